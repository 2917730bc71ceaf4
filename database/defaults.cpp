#include "database/defaults.h"

#include <algorithm>

#include "database/trial.h"
#include "ir/graph.h"
#include "ir/operator.h"

namespace lemma::database {
namespace {

bool may_become_parameter(const AttributeSpecification& specification) {
  if (names_axes(specification.role)) return false;
  return specification.kind == AttributeKind::dimensions ||
         specification.kind == AttributeKind::dimension ||
         specification.kind == AttributeKind::real;
}

bool is_written(const RuleTerm& term, std::string_view attribute) {
  return std::any_of(term.attributes.begin(), term.attributes.end(),
                     [attribute](const auto& a) { return a.first == attribute; });
}

}  // namespace

std::vector<WrittenDefault> write_defaults(Substitution& rule) {
  std::vector<WrittenDefault> result;
  const auto complete = term_attributes(rule);
  if (!complete) return result;
  for (std::size_t i = 0; i < rule.terms.size(); ++i) {
    RuleTerm& term = rule.terms[i];
    if (term.is_input) continue;
    for (const AttributeSpecification& s : record(term.op).attributes) {
      const AttributeValue* value = (*complete)[i].find(s.name);
      if (value == nullptr || !may_become_parameter(s) || is_written(term, s.name)) continue;
      auto expression = parse_rule_expression(text(*value));
      if (!expression) continue;
      term.attributes.emplace_back(std::string(s.name), *expression);
      result.push_back({term.op, std::string(s.name), std::move(*expression)});
    }
  }
  return result;
}

void drop_defaults(Substitution& rule, const std::vector<WrittenDefault>& defaults) {
  for (RuleTerm& term : rule.terms)
    std::erase_if(term.attributes, [&](const auto& attribute) {
      return std::any_of(defaults.begin(), defaults.end(), [&](const WrittenDefault& written) {
        return !term.is_input && written.op == term.op && written.attribute == attribute.first &&
               written.value == attribute.second;
      });
    });
}

}  // namespace lemma::database
