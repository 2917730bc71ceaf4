#pragma once
// `lemma audit --html`: self-contained pages about every rule and axiom.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "rule_language/rounding.h"
#include "rule_language/rule_cases.h"
#include "verifier/checker/certificate.h"
#include "verifier/index/prove_axiom.h"

namespace lemma {

struct AuditedRule {
  const Substitution* rule = nullptr;
  std::string failure;                                // empty if the certificate holds
  const checker::Certificate* certificate = nullptr;  // if it holds
  std::vector<std::string> cases;                     // their lines
  std::map<std::string, std::size_t> axioms;          // and how many steps use them
  std::size_t steps = 0, shown_case = 0;
  std::string_view rounding;
  bool index_on_record = false;  // an index proof of all cases
  std::string index_case_text;   // which case `index_case` is about
  verifier::IndexCase index_case;
};

/// What was thought to be a rule and is none.
struct RefutedRule {
  std::string text, reason;
  std::string values;               // of a counterexample
  std::vector<std::string> inputs;  // of a counterexample
  std::string source;               // where that stands
};

/// Writes index.html, axioms.html, refuted.html, rule-NAME.html for each rule, and axiom-NAME.html for each
/// axiom. The same rules give the same bytes.
Result<void> write_audit_pages(const std::filesystem::path& folder,
                               const std::vector<AuditedRule>& rules,
                               const std::vector<Substitution>& axioms,
                               const std::vector<RefutedRule>& refuted,
                               const RoundingTable& rounding);

}  // namespace lemma
