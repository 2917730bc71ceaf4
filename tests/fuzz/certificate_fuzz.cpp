// The checker is total: any text read as a certificate, and any lines read as the steps of a proof,
// are refused or replayed, and nothing else. To be run where the folder `rules` is.
//   build/fuzz/bin/certificate_fuzz -max_total_time=60 FOLDER

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "rule_language/rule_cases.h"
#include "rule_language/rule_database.h"
#include "verifier/checker/replay.h"

namespace {

using namespace lemma;  // NOLINT: one file, no header

struct Proofs {
  std::vector<Substitution> axioms;
  checker::AxiomTable table;
  std::vector<checker::Certificate> certificates;
  std::vector<std::vector<RuleCase>> cases;  // a few, by certificate
  Digests digests;
};

Proofs& proofs() {
  static Proofs result;
  return result;
}

/// The lines as steps of a proof of some rule, in its first cases.
void replay(std::string_view lines, std::size_t which) {
  Substitution terms = proofs().certificates[which].terms;
  checker::Chain chain;
  while (!lines.empty() && chain.size() < 8) {
    const std::size_t end = std::min(lines.find('\n'), lines.size() - 1);
    auto step = checker::parse_step(lines.substr(0, end), proofs().table, terms);
    lines.remove_prefix(end + 1);
    if (step) chain.push_back(std::move(*step));
  }
  if (chain.empty()) return;
  for (const RuleCase& one : proofs().cases[which])
    (void)checker::replay_case(terms, one, chain, false);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  auto axioms = read_substitutions("rules/axioms", ".axioms");
  if (!axioms) {
    std::fprintf(stderr, "%s\n", axioms.error().message.c_str());
    return 1;
  }
  proofs().axioms = std::move(*axioms);
  for (const Substitution& axiom : proofs().axioms) proofs().table[axiom.name] = &axiom;
  const auto shipped = read_certificates("rules/substitutions");
  if (!shipped) return 1;
  for (const auto& [rule, section] : *shipped) {
    auto certificate = checker::parse_certificate(section.text, proofs().table, proofs().digests);
    if (!certificate) continue;
    auto cases = required_cases(certificate->rule);
    if (!cases) continue;
    cases->resize(std::min<std::size_t>(cases->size(), 3));
    proofs().cases.push_back(std::move(*cases));
    proofs().certificates.push_back(std::move(*certificate));
  }
  return proofs().certificates.empty() ? 1 : 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto whole = checker::parse_certificate(text, proofs().table, proofs().digests);
  if (!whole && whole.error().message.empty()) std::abort();
  if (size < 2) return 0;
  replay(text.substr(1), static_cast<std::size_t>(data[0]) % proofs().certificates.size());
  return 0;
}
