#pragma once
// Rules of partial equivalence with a wrong region or correction: a part that begins or ends one index away, a border or a
// margin of another width, another stride, dilation or group, axes that are exchanged.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rule_language/substitution.h"
#include "rule_language/substitution_analysis.h"

namespace lemma::partial {

struct WrongClaim {
  std::string kind;  // the attribute that was changed
  Substitution claim;
};

/// The expression plus or minus a number.
inline RuleExpression moved(const RuleExpression& expression, std::int64_t by) {
  RuleExpression number, result;
  number.literal = by < 0 ? -by : by;
  result.kind = by < 0 ? RuleExpression::Kind::subtract : RuleExpression::Kind::add;
  result.arguments = {expression, number};
  return result;
}

/// All claims that differ in one number of an attribute of a term that only the right side has.
inline std::vector<WrongClaim> wrong_claims_of(const Substitution& rule) {
  std::vector<WrongClaim> result;
  std::vector<char> on_left(rule.terms.size(), 0);
  for (const TermId id : detail::reachable_terms(rule, rule.left)) on_left[id.v] = 1;
  const auto add = [&](std::string_view kind, std::size_t term, std::size_t attribute,
                       RuleExpression value) {
    Substitution claim = rule;
    claim.bidirectional = false;
    claim.terms[term].attributes[attribute].second = std::move(value);
    // Read again, so that it is a rule as any other.
    auto parsed = parse_substitutions(text(claim), "wrong.rules");
    if (parsed && parsed->size() == 1) result.push_back({std::string(kind), parsed->front()});
  };
  for (const TermId id : detail::reachable_terms(rule, rule.right)) {
    const RuleTerm& term = rule.terms[id.v];
    if (term.is_input || on_left[id.v] != 0) continue;
    for (std::size_t k = 0; k < term.attributes.size(); ++k) {
      const auto& [name, value] = term.attributes[k];
      const bool is_list = value.kind == RuleExpression::Kind::list;
      if (name == "group") {
        for (const std::int64_t by : {1, -1}) add(name, id.v, k, moved(value, by));
      } else if (is_list && (name == "starts" || name == "ends" || name == "pads" ||
                             name == "strides" || name == "dilations" || name == "split")) {
        for (std::size_t i = 0; i < value.arguments.size(); ++i)
          for (const std::int64_t by : {1, -1}) {
            RuleExpression list = value;
            list.arguments[i] = moved(value.arguments[i], by);
            add(name, id.v, k, std::move(list));
          }
      } else if (is_list && name == "perm") {
        for (std::size_t i = 0; i + 1 < value.arguments.size(); ++i) {
          RuleExpression list = value;
          std::swap(list.arguments[i], list.arguments[i + 1]);
          add(name, id.v, k, std::move(list));
        }
      }
    }
  }
  return result;
}

}  // namespace lemma::partial
