#pragma once
// Axes whose elements have formulas of their own, as those of a transform by a small matrix: the value is chosen by
// comparisons of these axes with numbers. The formulas of all elements along them are computed together, and no comparison
// is left.

#include <cstddef>
#include <optional>
#include <vector>

#include "lowering/lower.h"

namespace lemma::backend {

struct Cases {
  std::vector<std::size_t> axes;             // ascending positions in `axes` of the nest
  std::vector<lowering::TermNumber> values;  // by element along these axes, the last one fastest
};

/// Nothing if there are no such axes, or if they have more than 64 elements together.
std::optional<Cases> find_cases(const lowering::LoweredOutput& nest);

}  // namespace lemma::backend
