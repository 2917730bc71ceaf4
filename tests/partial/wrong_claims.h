#pragma once
// Rules of partial equivalence with a wrong region or correction: a part that begins or ends one index away, a border or a
// margin of another width, another stride, dilation or group, strides and dilations that are ignored, axes, sizes or parts
// that are exchanged.

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

/// All claims that differ in one attribute of a term that only the right side has, or in the order of the parts that it
/// puts beside each other.
inline std::vector<WrongClaim> wrong_claims_of(const Substitution& rule) {
  std::vector<WrongClaim> result;
  std::vector<char> on_left(rule.terms.size(), 0);
  for (const TermId id : detail::reachable_terms(rule, rule.left)) on_left[id.v] = 1;
  const auto add_claim = [&](std::string_view kind, Substitution claim) {
    claim.bidirectional = false;
    // Read again, so that it is a rule as any other.
    auto parsed = parse_substitutions(text(claim), "wrong.rules");
    if (parsed && parsed->size() == 1) result.push_back({std::string(kind), parsed->front()});
  };
  const auto add = [&](std::string_view kind, std::size_t term, std::size_t attribute,
                       RuleExpression value) {
    Substitution claim = rule;
    claim.terms[term].attributes[attribute].second = std::move(value);
    add_claim(kind, std::move(claim));
  };
  const auto add_exchanged = [&](std::string_view kind, std::size_t term, std::size_t attribute) {
    const RuleExpression& value = rule.terms[term].attributes[attribute].second;
    for (std::size_t i = 0; i + 1 < value.arguments.size(); ++i) {
      if (value.arguments[i] == value.arguments[i + 1]) continue;
      RuleExpression list = value;
      std::swap(list.arguments[i], list.arguments[i + 1]);
      add(kind, term, attribute, std::move(list));
    }
  };
  for (const TermId id : detail::reachable_terms(rule, rule.right)) {
    const RuleTerm& term = rule.terms[id.v];
    if (term.is_input || on_left[id.v] != 0) continue;
    if (term.op == operator_named("Concat"))
      for (std::size_t i = 0; i + 1 < term.operands.size(); ++i) {
        Substitution claim = rule;
        std::vector<TermId>& parts = claim.terms[id.v].operands;
        std::swap(parts[i], parts[i + 1]);
        add_claim("parts exchanged", std::move(claim));
      }
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
        if (name == "strides" || name == "dilations")
          for (std::size_t i = 0; i < value.arguments.size(); ++i) {
            RuleExpression list = value;
            list.arguments[i] = {};
            list.arguments[i].literal = std::int64_t{1};
            if (!(list == value)) add(name + " ignored", id.v, k, std::move(list));
          }
      } else if (is_list && name == "perm") {
        add_exchanged(name, id.v, k);
      } else if (is_list && name == "shape") {
        add_exchanged("sizes exchanged", id.v, k);
      }
    }
  }
  return result;
}

}  // namespace lemma::partial
