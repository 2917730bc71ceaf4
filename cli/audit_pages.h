#pragma once
// `lemma audit --html`: self-contained pages about every rule and axiom.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "rule_language/rounding.h"
#include "rule_language/rule_cases.h"
#include "verifier/checker/certificate.h"

namespace lemma {

struct AuditedRule {
  const Substitution* rule = nullptr;
  std::string failure;                                // empty if the certificate holds
  const checker::Certificate* certificate = nullptr;  // if it holds
  std::vector<std::string> cases;                     // their lines
  std::map<std::string, std::size_t> axioms;          // and how many steps use them
  std::size_t steps = 0, shown_case = 0;
  double seconds = 0;  // to replay it
  std::string_view rounding;
};

/// Writes index.html, axioms.html, rule-NAME.html for each rule, and axiom-NAME.html for each axiom.
Result<void> write_audit_pages(const std::filesystem::path& folder,
                               const std::vector<AuditedRule>& rules,
                               const std::vector<Substitution>& axioms,
                               const RoundingTable& rounding);

}  // namespace lemma
