#pragma once
// Operators that are undefined for some elements over the reals (a quotient by 0, a root of what is
// negative), and what that means for equalities between their results.

#include "ir/operator.h"
#include "ir/substitution.h"

namespace lemma {

/// Whether elements are divided by, or what is undefined somewhere is applied to elements: read off
/// the definition of an example, or of what the operator is composed of. Sizes, numbers,
/// 1 + exp(...), 1 + |...| and sums of exponentials are known not to be 0; true is the safe side.
bool may_be_undefined(OperatorId op);

/// An equality with `=>` holds where its left side is defined. If that has an operator that may be
/// undefined, the right side may be defined where the left one is not (`Div(x, x) => 1`): read from
/// right to left it says nothing.
bool holds_from_left_only(const Substitution& equality);

}  // namespace lemma
