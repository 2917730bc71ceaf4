#pragma once
// A region as a box of a tensor.

#include <optional>
#include <utility>
#include <vector>

#include "backend/program.h"

namespace lemma::backend {

using RegionBox = std::vector<std::pair<std::int64_t, std::int64_t>>;  // first and end, by axis

/// The box in a tensor with these extents in row-major order; nothing where the region is no box of
/// it.
std::optional<RegionBox> box_of_region(const Region& region,
                                       const std::vector<std::int64_t>& extents);

}  // namespace lemma::backend
