#include "verifier/index/axiom_proofs.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <thread>

namespace lemma::verifier {
namespace {

VerifiedAxiom verify(const Substitution& axiom, const AxiomRecord* known, bool reprove) {
  const auto begin = std::chrono::steady_clock::now();
  VerifiedAxiom result;
  result.name = axiom.name;
  if (known != nullptr && !reprove && misfit(*known, axiom).empty()) {
    result.recorded = true;
    result.proof.proved = true;
    result.proof.cases = known->cases;
  } else {
    result.proof = prove_by_index(axiom);
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
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < axioms.size(); i = next++) {
      const auto found = known.find(axioms[i].name);
      results[i] =
          verify(axioms[i], found == known.end() ? nullptr : found->second, options.reprove);
    }
  };
  const int available = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::thread> workers;
  for (int i = 1; i < (options.threads > 0 ? options.threads : available); ++i)
    workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();
  return results;
}

}  // namespace lemma::verifier
