#pragma once
// Whether the domain of a guarded reduction is never empty: for sliding windows with padding,
// whether each window has a position that is not padding.

#include "ir/definition.h"

namespace lemma {

/// Whether for all values of the other variables some values of the bound ones make the guard true.
/// It is a conjunction of `0 <= e` and `e < E` for sums e of multiples of variables; anything else
/// is not decided (false). Each domain has elements; symbols may be replaced as `sizes` says.
bool some_position_passes(const Definition& definition, ExpressionId guard,
                          const std::vector<VariableId>& bound, const DimensionBindings& sizes);

}  // namespace lemma
