#pragma once
// From an equality between terms of fixed sizes to a rule for all sizes.
//
// Each axis of each input is given a size of its own, and each operator its own copies of the sizes
// that its description names (rule_language/substitution.h: `a : [m, k]`). Then operands are unified with the
// shapes that operators ask for, and the outputs of both sides with each other; what is left open
// is a variable of the rule. Where a sum meets a sum (a split of a concatenation) there are several
// ways to divide it, which are tried in turn.
//
// The rule is then evaluated at several other sizes, in extended precision: exact for sums, products,
// maxima and comparisons of the contents chosen, and otherwise to 2^-44 of the largest element. If
// it does not hold, it is made less general: two sizes that were equal in the enumeration are made
// one variable; then choices of the enumeration are kept; then all sizes that were equal are one.
// A candidate that still does not hold was true for the sizes enumerated only.

#include <functional>
#include <string>

#include "generator/candidate.h"
#include "rule_language/substitution.h"

namespace lemma::generator {

struct CheckResult {
  std::size_t instances = 0;   // that could be evaluated
  std::string counterexample;  // empty: it holds on them
  bool backward = false;       // the counterexample is one to the claim from right to left
};

/// Evaluates a rule without groups at sizes chosen at random.
CheckResult check_at_other_sizes(const Substitution& rule, std::uint64_t seed);

enum class Generality {
  free,           // all sizes for which both sides are well typed
  equal_sizes,    // two sizes were made equal, or choices of the enumeration that have one value
  as_enumerated,  // choices of the enumeration were kept
  all_equal,      // and all sizes made equal that were
};

struct SymbolicRule {
  Substitution rule;
  Generality generality = Generality::free;
};

struct SymbolicFailure {
  bool refuted = false;  // by other sizes; otherwise it cannot be written as a rule
  std::string reason;
};

tl::expected<SymbolicRule, SymbolicFailure> make_rule(const TermTable& table,
                                                      const Candidate& candidate,
                                                      const std::string& name);

/// Says at how many other sizes a rule could be evaluated, and whether it is the one that is looked for.
using RuleJudge = std::function<CheckResult(const Substitution&)>;

/// The same with another judge, and only from the left side to the right one.
tl::expected<SymbolicRule, SymbolicFailure> make_directed_rule(const TermTable& table,
                                                               const Candidate& candidate,
                                                               const std::string& name,
                                                               const RuleJudge& judge);

}  // namespace lemma::generator
