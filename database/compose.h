#pragma once
// Rules that need not be enumerated because they are composed from others.

#include <optional>
#include <vector>

#include "rule_language/substitution.h"

namespace lemma::database {

/// Commutativity of the operators that occur, as their records state it. The enumeration builds
/// graphs in one order of operands only, so that no candidate says so.
std::vector<Substitution> commutative_operators(const std::vector<Substitution>& candidates);

/// Two outputs are equal when each is: where `N#0 => a` and `N#1 => b` are rules about one node N,
/// `a & b => N#0 & N#1`. In normal form, in the order of `rules`.
std::vector<Substitution> several_outputs(const std::vector<Substitution>& rules);

}  // namespace lemma::database
