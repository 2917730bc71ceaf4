#include "check/replayed_rules.h"

namespace lemma {

ReplayedRules::ReplayedRules(const RuleDatabase& database) {
  for (const Substitution& rule : database.substitutions()) table.emplace(rule.name, &rule);
  bitwise = database.bitwise();
}

}  // namespace lemma
