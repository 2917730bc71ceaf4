#pragma once
// Proving a substitution from axioms, for all sizes and all its cases.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rule_language/rounding.h"
#include "rule_language/substitution.h"
#include "verifier/verdict.h"

namespace lemma::verifier {

struct Theory;  // axioms, prepared for proving

/// Why an axiom is not to be used: exact evaluation refutes it, or is not possible. Empty if it may be.
std::string objection_to(const Substitution& axiom);

/// Parsed axioms that passed exact evaluation. `refused` lists those that did not, with the reason;
/// they are not used.
class AxiomSet {
 public:
  /// `rounding` says what certificates state as the class of a rule; axioms that are not in it count
  /// as rounding.
  explicit AxiomSet(std::vector<Substitution> axioms, RoundingTable rounding = {});
  /// The same, when objection_to() has been asked for each.
  AxiomSet(std::vector<Substitution> axioms, const std::vector<std::string>& objections,
           RoundingTable rounding);
  ~AxiomSet();
  AxiomSet(AxiomSet&&) noexcept;
  AxiomSet& operator=(AxiomSet&&) noexcept;

  const std::vector<Substitution>& axioms() const;
  const std::vector<std::pair<std::string, std::string>>& refused() const { return refused_; }
  const Theory& theory() const { return *theory_; }

 private:
  std::unique_ptr<Theory> theory_;
  std::vector<std::pair<std::string, std::string>> refused_;
};

/// Refuted if exact evaluation finds a counterexample; Proved if every case follows from the axioms
/// by a chain of steps that the checker replays and Z3 confirms; Unknown otherwise.
Verdict prove(const Substitution& rule, const AxiomSet& axioms);

/// The second half of this alone: Proved or Unknown, nothing is evaluated.
Verdict prove_from_axioms(const Substitution& rule, const AxiomSet& axioms);

}  // namespace lemma::verifier
