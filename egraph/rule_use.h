#pragma once
// How the search uses a proved rule: in which directions, and where.
//
// A rule says that two sides are equal, not which of them is worth having. A direction is used if its
// right side costs no more than its left one, but for a little, in one of the situations in which
// the terms were priced; what depends on weights alone is computed ahead of time and costs nothing.
// If that holds only where some inputs are weights, the direction is used there alone; of several
// smallest sets of such inputs each is used. A direction with free parameters is used whatever it costs there.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "egraph/pattern.h"
#include "rule_language/substitution.h"

namespace lemma {

/// The cost of one application, by any unit.
using OperationCost = std::function<double(const OperatorRecord& record, const Instance& instance,
                                           std::span<const TensorType> outputs)>;

/// What the terms of a rule cost: by situation, then by term; inputs cost nothing.
using TermCosts = std::vector<std::vector<double>>;

/// One situation without sizes: views are free, products and convolutions cost two, everything else
/// one. For what must not depend on a target.
TermCosts unit_costs(const Substitution& rule);

/// Costs of a typical application (example_case()), one situation for each of `situations`, whose
/// functions say what symbolic sizes stand for. Unit costs if there is no such application, or no
/// situation.
TermCosts term_costs(const Substitution& rule, std::span<const OperationCost> situations);

/// A direction of a rule as the search uses it.
struct RuleUse {
  Substitution rule;  // from left to right; inputs that must be weights are marked
  bool backward = false;
  bool saves = false;  // the right side costs less in some situation, not only no more
};

/// Empty: the search does not use the rule. Inputs that the rule itself marks stay marked.
std::vector<RuleUse> uses_of(const Substitution& rule, const TermCosts& costs);

/// Uses of all rules, prepared for matching.
struct CompiledUses {
  std::vector<CompiledRule> rules;
  std::vector<bool> saves;  // of each
};
/// `situations`: as for term_costs(). `bitwise`: the rules of this rounding class. `target_values`: of
/// `free k : target`.
Result<CompiledUses> compile_uses(std::span<const Substitution> rules,
                                  std::span<const OperationCost> situations,
                                  const RuleNames& bitwise = {},
                                  std::span<const std::int64_t> target_values = {});

}  // namespace lemma
