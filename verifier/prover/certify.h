#pragma once
// Making a certificate: chains of steps for all cases of a rule, found by search, written over the
// rule's variables, and accepted only after the checker has replayed them.

#include <set>
#include <string>
#include <vector>

#include "verifier/checker/replay.h"
#include "verifier/prover/saturate.h"

namespace lemma::verifier {

struct CertifiedRule {
  std::string certificate;       // empty if there is no witness
  std::set<std::string> axioms;  // names of those used
  std::size_t cases = 0, steps = 0;
};

/// Every case of the rule is proved, replayed and confirmed by Z3. `witness` is the text of a
/// concrete instance. The error says which case is not proved, and why.
Result<CertifiedRule> certify(const Substitution& rule, const std::vector<DirectedAxiom>& axioms,
                              const checker::AxiomTable& table, const std::string& witness,
                              const RoundingTable& rounding = {});

}  // namespace lemma::verifier
