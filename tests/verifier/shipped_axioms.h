#pragma once
// The axioms of rules/axioms, for tests of proofs.

#include <string>
#include <vector>

#include "rule_language/rule_database.h"
#include "verifier/prover/prove.h"

namespace lemma::verifier {

/// Without evaluating them, which takes seconds: verifier_prover_test does that.
inline const AxiomSet& shipped_axioms() {
  static const AxiomSet set = [] {
    std::vector<Substitution> axioms = *read_substitutions("rules/axioms", ".axioms");
    const std::vector<std::string> no_objections(axioms.size());
    return AxiomSet(std::move(axioms), no_objections, {});
  }();
  return set;
}

}  // namespace lemma::verifier
