#pragma once
// Reverse accumulation over a graph: the nodes that compute gradients are added to it.

#include <span>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"

namespace lemma::differentiate {

/// A value and its gradient, of the same type.
struct ValueGradient {
  ValueId value, gradient;
};

/// For each of `with_respect_to` the sum over the seeds of what it contributes; none() for a value on which no seeded
/// value depends by way of real numbers. Nothing goes through the values in `held`. These values are taken for inputs: what they are computed from is not looked at.
/// Gradients of operations are operators that are made on demand (differentiate/gradient_records.h).
Result<std::vector<ValueId>> backward(Graph& graph, std::span<const ValueGradient> seeds,
                                      std::span<const ValueId> with_respect_to,
                                      std::span<const ValueId> held = {});

}  // namespace lemma::differentiate
