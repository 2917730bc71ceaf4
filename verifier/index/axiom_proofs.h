#pragma once
// The index proofs of all axioms. No new proof is needed if a record in rules/axioms.proofs
// (rule_language/proof_records.h) matches the axiom, the meaning of its operators and the version
// of the verifier.

#include <span>
#include <string>
#include <vector>

#include "rule_language/proof_records.h"
#include "rule_language/rounding.h"
#include "verifier/index/prove_axiom.h"

namespace lemma::verifier {

struct VerifiedAxiom {
  std::string name;
  IndexProof proof;
  AxiomRecord record;     // filled in if the axiom is proved
  bool recorded = false;  // the record was believed, nothing was proved
  double seconds = 0;
};

struct AxiomProofOptions {
  int threads = 0;       // 0: as many as there are processors
  bool reprove = false;  // also what has a fitting record
  /// The table that says which axioms keep every bit, so that they may compare what is undefined;
  /// null: none is known to.
  const RoundingTable* rounding = nullptr;
};

/// Verifies axioms. The results stand in the order of the axioms; the same for any number of
/// threads, but for the seconds.
std::vector<VerifiedAxiom> verify_axioms(std::span<const Substitution> axioms,
                                         std::span<const AxiomRecord> records,
                                         const AxiomProofOptions& options = {});

}  // namespace lemma::verifier
