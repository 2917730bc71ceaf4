#pragma once
// Side conditions: if a rule is not true, or its right side is not always defined, the weakest
// condition is searched under which it is.
//
//   1. What the right side needs to be defined: the equations between sizes of its operators, and of
//      the outputs of both sides, solved. Nothing weaker would do.
//   2. The right side may read elements that the left side does not read: inputs that have to be
//      defined are declared so (verifier/index/obligations.h).
//   3. If exact evaluation still finds counterexamples: of the conditions `n == 1` and `n == m`
//      between the sizes and groups that are left, one or two, those that no counterexample meets.
//      Of these the one that most instances on which the sides agree meet is tried first.
//   4. Where attributes divide by sizes, that these are positive; before 3, one or two sizes are taken to be positive if
//      one of them is 0 in each counterexample.
//
// The conditions become part of the rule (its `where`), which is then proved like any other: what
// is said here is believed by nobody. Rules with parameters other
// than `dimension`, and rules with `=`, are proved or refuted as they are.

#include <string>
#include <vector>

#include "rule_language/substitution.h"
#include "verifier/prover/prove.h"

namespace lemma::verifier {

struct ConditionedRule {
  Substitution rule;               // as it was, or with conditions
  std::vector<std::string> added;  // the conditions found, as text
  Verdict verdict;                 // of `rule`
  /// The verdict on the rule as it was, if conditions had to be added.
  Verdict unconditional;
  double index_seconds = 0;  // processor time for index proofs
};

ConditionedRule prove_under_conditions(const Substitution& rule, const AxiomSet& axioms);

/// "len(A) == 0, m == n"
std::string condition_text(const Substitution& rule);

}  // namespace lemma::verifier
