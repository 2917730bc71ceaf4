#pragma once
// Constants of one element as operators, because rules speak of numbers in this form.

#include "ir/graph.h"

namespace lemma {

/// The graph with each scalar, or vector of one element, that is finite, of a floating-point type and read by an
/// operation, as ConstantOfShape of this value.
/// Folding makes constants with the same bits of them. A zero with a sign stays a constant.
Result<Graph> with_numbers_as_operators(const Graph& graph);

}  // namespace lemma
