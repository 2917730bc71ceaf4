#pragma once
// The most general rule that covers a candidate: numbers become variables, numbers of axes become
// groups, shared parts become inputs, as long as the rule stays true.
//
// Each step proposes rules, the most general first. Exact evaluation refutes most false ones at
// once; what it does not refute is believed for the time being, and the last is proved. If it
// cannot be, the step before is, and so on down to the candidate.

#include <string>
#include <vector>

#include "rule_language/substitution.h"
#include "verifier/prover/prove.h"

namespace lemma::database {

struct GeneralRule {
  Substitution rule;  // in normal form
  verifier::Proved proved;
};

struct Generalized {
  /// None if the candidate is not proved. Several where none covers the other: products with
  /// a batch of left sides, of right sides, ...
  std::vector<GeneralRule> rules;
  verifier::Verdict verdict;       // of the candidate, if there is no rule
  std::vector<std::string> steps;  // that were taken, in order
};

/// `candidate` is in normal form.
Generalized generalize(const Substitution& candidate, const verifier::AxiomSet& axioms);

}  // namespace lemma::database
