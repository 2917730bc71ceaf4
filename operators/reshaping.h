#pragma once
// Row-major order: the index of an element of one shape in another shape with as many elements.

#include <vector>

#include "ir/definition.h"

namespace lemma::operators {

/// Indices into `from` of the element at `axes` in `to`. Runs of axes whose sizes have equal
/// products on both sides are handled separately, so that the indices are simple:
/// [N, 4, 5] as [N, 20] is x[i, floordiv(j, 5), floormod(j, 5)].
std::vector<Expression> reshaped_indices(DefinitionBuilder& builder, const Shape& from,
                                         const Shape& to, const std::vector<Expression>& axes);

}  // namespace lemma::operators
