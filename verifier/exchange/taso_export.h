#pragma once
// Our rules in TASO's format.
//
// What TASO reads must be the rule that was written: an exported rule is imported again, and must be
// the same but for the names of its variables. So conditions other than those that the format
// implies, broadcasting, weights, real parameters and open ranks beside a Concat are not exported.

#include <string>
#include <vector>

#include "ir/result.h"
#include "ir/substitution.h"
#include "verifier/exchange/taso_format.h"

namespace lemma::exchange {

/// An error says what TASO has no words for.
Result<TasoRule> export_rule(const Substitution& rule);

struct ExportedRules {
  std::vector<TasoRule> rules;
  std::vector<std::string> left_out;  // "NAME: why"
};
ExportedRules export_rules(const std::vector<Substitution>& rules);

/// The text of a rule with inputs and variables numbered in the order of their first use: equal for
/// rules that differ in names only.
std::string text_without_names(const Substitution& rule);

}  // namespace lemma::exchange
