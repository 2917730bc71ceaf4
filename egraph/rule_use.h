#pragma once
// How the search uses a proved rule: in which directions, and where.
//
// A rule says that two sides are equal, not which of them is worth having. A direction is used if its
// right side costs no more than its left one, counted in kernels: views are free, products and
// convolutions count twice, and what depends on weights alone is computed ahead of time. If that
// holds only where some inputs are weights, the direction is used there alone; of several smallest
// choices of such inputs each is used.

#include <span>
#include <string>
#include <vector>

#include "egraph/pattern.h"
#include "rule_language/substitution.h"

namespace lemma {

/// A direction of a rule as the search uses it.
struct RuleUse {
  Substitution rule;  // from left to right; inputs that must be weights are marked
  bool backward = false;
  bool saves = false;  // the right side costs less, not only no more
};

/// Empty: the search does not use the rule. Inputs that the rule itself marks stay marked.
std::vector<RuleUse> uses_of(const Substitution& rule);

/// Uses of all rules, prepared for matching.
struct CompiledUses {
  std::vector<CompiledRule> rules;
  std::vector<bool> saves;  // of each
};
/// `bitwise`: the rules of this rounding class.
Result<CompiledUses> compile_uses(std::span<const Substitution> rules,
                                  const RuleNames& bitwise = {});

}  // namespace lemma
