#pragma once
// Our rules in TASO's format.
//
// TASO interprets a rule without broadcasting, with the ranks of its Concats, and without
// conditions. Therefore an exported rule is imported again. If the result differs from the original
// in more than names, it has to be proved separately.

#include <string>
#include <vector>

#include "base/result.h"
#include "rule_language/substitution.h"
#include "verifier/exchange/taso_format.h"

namespace lemma::exchange {

struct ExportedRule {
  TasoRule rule;
  Substitution as_read;  // what TASO makes of it
  std::string of;        // the name of the rule that it is, or is an instance of
  bool is_same = false;  // but for names
};
/// The rule, or its instances for numbers of axes and values of parameters (taso_instances.h), each another rule for TASO:
/// the first one is named as the rule, the next one NAME_instance_2. An error says what TASO has no words for.
Result<std::vector<ExportedRule>> export_rule(const Substitution& rule);

struct ExportedRules {
  std::vector<ExportedRule> rules;
  std::vector<std::string> left_out;  // "NAME: why"
};
ExportedRules export_rules(const std::vector<Substitution>& rules);

/// The text of a rule with inputs and variables numbered in the order of their first use: equal for
/// rules that differ in names only.
std::string text_without_names(const Substitution& rule);

}  // namespace lemma::exchange
