#pragma once
// Quick answers about proposals: most false ones fall here, at the cost of milliseconds.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rule_language/substitution.h"
#include "verifier/prover/prove.h"

namespace lemma::database {

/// Drops inputs, groups and parameters that are not used any more, and numbers the terms again.
void tidy(Substitution& rule);

/// The types of all terms in the first case of a rule without groups; nothing if it has groups, or is
/// not well typed.
std::optional<std::vector<TensorType>> term_types(const Substitution& rule);

/// The complete attributes of all terms (none for inputs), likewise.
std::optional<std::vector<Attributes>> term_attributes(const Substitution& rule);

class Trial {
 public:
  explicit Trial(const verifier::AxiomSet& axioms) : axioms_(axioms) {}

  /// The proposal in normal form, if it is a rule, both sides have one type in its cases, and exact
  /// evaluation on a few instances does not refute it. Each is tried once.
  std::optional<Substitution> plausible(Substitution proposal);
  /// The verdict; each is asked for once.
  const verifier::Verdict& verdict(const Substitution& rule);

  std::size_t tried() const { return tried_.size(); }

 private:
  const verifier::AxiomSet& axioms_;
  std::map<std::string, bool> tried_;  // by claim
  std::map<std::string, verifier::Verdict> verdicts_;
};

}  // namespace lemma::database
