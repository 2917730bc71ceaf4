#include "pipeline/chosen_rules.h"

#include <regex>

#include "rule_language/rule_roles.h"

namespace lemma {

RuleDatabase chosen_rules(const RuleDatabase& database, const OptimizeOptions& options,
                          RoundingClass worst) {
  RuleDatabase wanted = database.up_to(worst);
  if (options.cleans)
    wanted = wanted.with_suggested_roles().selected(
        [](const Substitution& rule) { return has_role(rule, RuleRole::simplification); });
  if (options.rules.names.empty()) return wanted;
  const std::regex expression(options.rules.names);
  return wanted.selected(
      [&expression](const Substitution& rule) { return std::regex_search(rule.name, expression); });
}

LeftOut left_out_with(const OptimizeOptions& options, RoundingClass worst) {
  if (!options.rules.names.empty()) return LeftOut::nothing;
  return worst == RoundingClass::bitwise ? LeftOut::bitwise : options.search.left_out;
}

}  // namespace lemma
