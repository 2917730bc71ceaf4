#include "report/report_proofs.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/number_text.h"
#include "report/proof_text.h"
#include "rule_language/certificate_pack.h"
#include "rule_language/digests.h"
#include "rule_language/rule_cases.h"
#include "rule_language/rule_database.h"
#include "verifier/checker/certificate.h"
#include "verifier/checker/replay.h"

namespace lemma {

namespace {

/// Replays the whole certificate, and tells of the case with the most steps among the first ones.
Result<ReportedProof> proof_of(const Substitution& rule, const checker::Certificate& certificate) {
  constexpr std::size_t looked_at = 50;
  if (text(certificate.rule) != text(rule)) return bad_input("the certificate is for another text");
  LEMMA_RETURN_IF_ERROR(checker::check(certificate).map([](const auto&) {}));
  ReportedProof result;
  result.cases = certificate.case_count;
  std::size_t chosen = 0, most = 0;
  for (std::size_t i = 0; i < certificate.case_count; ++i) {
    const auto& chain = certificate.chains[certificate.chain_of(i)];
    result.steps += chain.size();
    for (const checker::Step& step : chain) result.axioms.insert(step.axiom->name);
    if (i < looked_at && chain.size() > most) {
      most = chain.size();
      chosen = i;
    }
  }
  LEMMA_ASSIGN_OR_RETURN(const std::vector<RuleCase> cases, required_cases(rule));
  LEMMA_ASSIGN_OR_RETURN(result.shown, case_text(certificate, cases, chosen));
  return result;
}

}  // namespace

Result<std::map<std::string, ReportedProof>> proofs_of(const std::filesystem::path& rules,
                                                       const std::set<std::string>& names) {
  std::map<std::string, ReportedProof> result;
  if (names.empty()) return result;
  LEMMA_ASSIGN_OR_RETURN(const auto axioms, read_substitutions(rules / "axioms", ".axioms"));
  LEMMA_ASSIGN_OR_RETURN(const auto read, read_substitutions(rules / "substitutions", ".rules"));
  LEMMA_ASSIGN_OR_RETURN(const CertificateTable certificates,
                         read_certificates(rules / "substitutions"));
  checker::AxiomTable table;
  for (const Substitution& axiom : axioms) table[axiom.name] = &axiom;
  Digests digests;
  for (const Substitution& rule : read) {
    const auto section = certificates.find(rule.name);
    if (!names.contains(rule.name) || section == certificates.end()) continue;
    const auto certificate =
        checker::parse_certificate(section->second.text, table, digests, section->second.line);
    if (!certificate) continue;
    if (auto proof = proof_of(rule, *certificate)) result.emplace(rule.name, std::move(*proof));
  }
  return result;
}

std::string readable_rule_name(const std::string& name) {
  constexpr std::size_t suffix = 10;
  std::string words = name, variant;
  const std::size_t last = name.rfind('_');
  if (last != std::string::npos && name.size() - last - 1 == suffix &&
      std::all_of(name.begin() + static_cast<std::ptrdiff_t>(last) + 1, name.end(),
                  is_ascii_hexadecimal_digit)) {
    variant = fmt::format(" ({})", name.substr(last + 1));
    words.resize(last);
  }
  std::replace(words.begin(), words.end(), '_', ' ');
  return words + variant;
}

}  // namespace lemma
