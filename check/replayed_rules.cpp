#include "check/replayed_rules.h"

namespace lemma {

ReplayedRules::ReplayedRules(const RuleDatabase& database) {
  for (std::size_t i = 0; i < database.substitutions().size(); ++i) {
    const Substitution& rule = database.substitutions()[i];
    table.emplace(rule.name, &rule);
    if (database.rounding()[i] == RoundingClass::bitwise) bitwise.insert(rule.name);
  }
}

}  // namespace lemma
