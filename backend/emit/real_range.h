#pragma once
// What is known of the size of real values, so that they are converted to integers without checks.

#include <limits>

#include "lowering/terms.h"

namespace lemma::backend {

/// Bounds of a value, unless it is NaN.
struct RealRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

/// Of a term whose type is real, in the native domain.
RealRange real_range(const lowering::TermGraph& graph, lowering::TermNumber id);

}  // namespace lemma::backend
