#pragma once
// Which tensors have whole numbers as elements, whatever their type is, and between which bounds these are.

#include <optional>
#include <vector>

#include "backend/lower/computation.h"

namespace lemma::backend {

/// Bounds of whole numbers, which are included.
struct WholeRange {
  double low = 0, high = 0;
};

/// By buffer; nothing where an element may be another number, or so large that a type of floating point rounds it.
using WholeNumbers = std::vector<std::optional<WholeRange>>;

WholeNumbers whole_numbers(const ComputationGraph& graph);

/// Of an expression of a computation whose operands have these elements.
std::optional<WholeRange> range_of(const Computation& computation, ExpressionId id,
                                   const WholeNumbers& buffers);

}  // namespace lemma::backend
