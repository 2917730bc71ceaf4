#include "verifier/index/axiom_proofs.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "system/parallel.h"

namespace lemma::verifier {
namespace {

VerifiedAxiom verify(const Substitution& axiom, const AxiomRecord* known,
                     const AxiomProofOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  VerifiedAxiom result;
  result.name = axiom.name;
  if (known != nullptr && !options.reprove && misfit(*known, axiom).empty()) {
    result.recorded = true;
    result.proof.proved = true;
    result.proof.cases = known->cases;
  } else {
    const RoundingTable none;
    const RoundingTable& table = options.rounding != nullptr ? *options.rounding : none;
    const bool keeps_bits = worst_of(std::span(&axiom.name, 1), table) == RoundingClass::bitwise;
    result.proof = prove_by_index(axiom, {.keeps_bits = keeps_bits, .proves_bits = keeps_bits});
  }
  if (result.proof.proved) result.record = axiom_record(axiom, result.proof.cases);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace

std::vector<VerifiedAxiom> verify_axioms(std::span<const Substitution> axioms,
                                         std::span<const AxiomRecord> records,
                                         const AxiomProofOptions& options) {
  std::map<std::string, const AxiomRecord*, std::less<>> known;
  for (const AxiomRecord& record : records) known[record.axiom] = &record;
  std::vector<VerifiedAxiom> results(axioms.size());
  parallel_for(axioms.size(), options.threads, [&](std::size_t i) {
    const auto entry = known.find(axioms[i].name);
    results[i] = verify(axioms[i], entry == known.end() ? nullptr : entry->second, options);
  });
  return results;
}

}  // namespace lemma::verifier
