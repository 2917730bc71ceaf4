#include "pipeline/chosen_rules.h"

#include <regex>

#include "search/rule_subset.h"

namespace lemma {

std::vector<Substitution> chosen_rules(const RuleDatabase& database, const OptimizeOptions& options,
                                       RoundingClass worst) {
  std::vector<Substitution> wanted = database.up_to(worst);
  if (options.cleans) wanted = cleaning_rules(wanted);
  if (options.rules.names.empty()) return wanted;
  const std::regex expression(options.rules.names);
  std::erase_if(wanted, [&expression](const Substitution& rule) {
    return !std::regex_search(rule.name, expression);
  });
  return wanted;
}

LeftOut left_out_with(const OptimizeOptions& options, RoundingClass worst) {
  if (!options.rules.names.empty()) return LeftOut::nothing;
  return worst == RoundingClass::bitwise ? LeftOut::bitwise : options.search.left_out;
}

}  // namespace lemma
