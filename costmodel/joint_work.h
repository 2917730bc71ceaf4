#pragma once
// Work of elements that are computed together. A definition says each element for itself: an element of a cumulative sum is a
// sum of its own. Interpreter and task programs recognise such reductions and compute all elements together
// (lowering/algorithms.h), and so do other runtimes; what that takes is read off the same form.

#include <optional>

#include "ir/operator.h"

namespace lemma {

/// The operations on elements for the expression `id` at all values of `axes`, which are those of an output that it depends on,
/// where it is a scan, a scatter, a selection by rank, a replacement or a Fourier transform. Nothing for all others. Sizes are
/// constant.
std::optional<double> joint_operations(const Definition& definition, const Instance& instance,
                                       ExpressionId id, const std::vector<VariableId>& axes);

}  // namespace lemma
