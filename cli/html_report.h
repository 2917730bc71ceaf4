#pragma once
// The report of `lemma optimize` as a self-contained HTML page.

#include <string>
#include <vector>

#include "cli/optimize_request.h"
#include "rule_language/rule_database.h"

namespace lemma {

/// Costs before and after as bars, the figures of each model, the rules that were used, and what
/// each of these says and does to rounding.
std::string html_report(const std::vector<OptimizeAnswer>& answers, const RuleDatabase& rules);

}  // namespace lemma
