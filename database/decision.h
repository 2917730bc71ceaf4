#pragma once
// The decision about one candidate: a counterexample, or the most general rule that covers it and
// is proved. It depends only on the candidate and the axioms, so that it can be computed on any
// rank, in any order, and kept in a journal.

#include <string>
#include <vector>

#include "rule_language/rule_database.h"
#include "rule_language/substitution.h"
#include "verifier/prover/prove.h"

namespace lemma::database {

struct DecidedRule {
  Substitution rule;   // in normal form
  ProofRecord record;  // without its digest, which depends on the records of the axioms
  std::string certificate;
  std::string reason;  // why one of its two proofs is missing; empty if it has both
};

struct Decision {
  enum class Outcome { proved, refuted, unknown };
  Outcome outcome = Outcome::unknown;
  /// Why it is refuted or unknown; for a rule that holds under conditions only, the counterexample
  /// to it without them.
  std::string reason;
  /// The class of the reason for which it is refuted: "values", "definedness", or for what holds
  /// under conditions those.
  std::string reason_class;
  std::vector<std::string> conditions;  // that had to be added
  std::vector<std::string> steps;       // of generalization, in order
  std::vector<DecidedRule> rules;       // if proved; at least one
  /// The rules are no more general than the candidate, because generalizing has left it unknown.
  bool is_narrow = false;
};

/// `candidate` is in normal form.
Decision decide(const Substitution& candidate, const verifier::AxiomSet& axioms);

/// Proves or refutes, and does not generalize.
Decision decide_as_it_is(const Substitution& rule, const verifier::AxiomSet& axioms);

/// The text of the decision for the journal.
std::string to_text(const Decision& decision);
Result<Decision> parse_decision(const std::string& text);

}  // namespace lemma::database
