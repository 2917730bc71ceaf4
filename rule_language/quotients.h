#pragma once
// Rules that move a division into a sum. Where the divisor is 0, a quotient is an infinity in a run, but a
// sum of quotients, of either sign, is NaN: (a + b) / 0 and a / 0 + b / 0.

#include "rule_language/substitution.h"

namespace lemma {

/// Whether the right side adds up results of partial functions (quotients, logarithms) where the left side
/// does not, or fewer of them. Unless such a rule keeps every bit, it is used only where its left side is
/// known to be defined.
bool adds_more_quotients(const Substitution& rule);

}  // namespace lemma
