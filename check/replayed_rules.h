#pragma once
// The rules that explanations speak of, for their replay.

#include "rule_language/rule_database.h"
#include "verifier/checker/explanation.h"

namespace lemma {

/// Rules by name, and the names of those that keep every bit. The database must outlive it.
struct ReplayedRules {
  checker::RuleTable table;
  checker::RuleNames bitwise;

  explicit ReplayedRules(const RuleDatabase& database);
};

}  // namespace lemma
