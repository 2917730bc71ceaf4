#pragma once
// The index proofs of all axioms, and their records in rules/axioms.proofs. A record spares the
// proof as long as the axiom, the definitions of its operators and the verifier are the same.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "ir/result.h"
#include "verifier/index/prove_axiom.h"

namespace lemma::verifier {

/// Raised whenever what counts as an index proof changes.
inline constexpr int index_proof_version = 2;

/// One line of rules/axioms.proofs.
struct AxiomRecord {
  std::string axiom;
  std::uint64_t text = 0;         // digest of the axiom's canonical text
  std::uint64_t definitions = 0;  // digest of the definitions of its operators
  std::size_t cases = 0;
  std::size_t by_uniformity = 0;  // choices of ranks
  int version = index_proof_version;
  friend bool operator==(const AxiomRecord&, const AxiomRecord&) = default;
};

std::string axiom_file_text(std::span<const AxiomRecord> records);
Result<std::vector<AxiomRecord>> parse_axiom_file(std::string_view contents, std::string_view file);
/// Nothing recorded if there is no such file.
Result<std::vector<AxiomRecord>> read_axiom_records(const std::filesystem::path& file);

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
};

/// In the order of the axioms; the same for any number of threads, but for the seconds.
std::vector<VerifiedAxiom> verify_axioms(std::span<const Substitution> axioms,
                                         std::span<const AxiomRecord> records,
                                         const AxiomProofOptions& options = {});

}  // namespace lemma::verifier
