#pragma once
// Loop nests whose elements are computed together: scans, scatters, selections by rank and replacements
// (lowering/algorithms.h).

#include <optional>

#include "backend/emit/emit_nest.h"
#include "lowering/algorithms.h"

namespace lemma::backend {

/// Statements that compute all elements within the bounds, which are all of an axis where its elements are computed together.
Result<source::Statements> emit_algorithm(const lowering::LoweredOutput& nest,
                                          const lowering::Algorithm& algorithm,
                                          const std::vector<LoopBounds>& bounds,
                                          std::string_view result);

}  // namespace lemma::backend
