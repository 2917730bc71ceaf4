#include "generator/free_factors.h"

#include <algorithm>
#include <functional>
#include <set>

#include "rule_language/substitution_analysis.h"

namespace lemma::generator {
namespace {

using Kind = RuleExpression::Kind;

std::set<std::string> variables_in(const RuleExpression& expression) {
  std::set<std::string> names;
  detail::for_each_expression(expression, [&names](const RuleExpression& e) {
    if (e.kind == Kind::variable) names.insert(e.name);
  });
  return names;
}

RuleExpression variable(const std::string& name) {
  RuleExpression result;
  result.kind = Kind::variable;
  result.name = name;
  return result;
}

/// What could be free, each variable once.
std::vector<FreeParameter> choices(const Substitution& rule) {
  std::vector<FreeParameter> result;
  std::set<std::string> seen;
  const auto add = [&](FreeParameter free) {
    if (seen.insert(free.expression.name).second) result.push_back(std::move(free));
  };
  for (const RuleInput& input : rule.inputs)
    for (const RuleExpression& size : input.shape) {
      const std::set<std::string> names = variables_in(size);
      if (names.size() < 2) continue;
      for (const std::string& name : names) {
        FreeParameter free;
        free.expression = variable(name);
        free.source = FreeParameter::Source::divisors;
        free.size = size;
        add(std::move(free));
      }
    }
  for (const RuleParameter& parameter : rule.parameters) {
    if (parameter.range != RuleParameter::Range::dimension) continue;
    FreeParameter free;
    free.expression = variable(parameter.name);
    free.values = {1, 2, 3, 4};
    add(std::move(free));
  }
  return result;
}

/// `count` more of the choices from `first` on, so that the rule is one.
bool declare(Substitution& rule, const std::vector<FreeParameter>& all, std::size_t first,
             std::size_t count) {
  if (count == 0) return detail::check_substitution(rule).has_value();
  for (std::size_t i = first; i + count <= all.size(); ++i) {
    rule.free.push_back(all[i]);
    if (declare(rule, all, i + 1, count - 1)) return true;
    rule.free.pop_back();
  }
  return false;
}

void shift(RuleExpression& expression, const std::string& name, const RuleExpression& amount) {
  if (expression.kind != Kind::variable || expression.name != name) {
    for (RuleExpression& argument : expression.arguments) shift(argument, name, amount);
    return;
  }
  RuleExpression sum;
  sum.kind = Kind::add;
  sum.arguments = {expression, amount};
  expression = std::move(sum);
}

}  // namespace

bool declare_free_parameters(Substitution& rule) {
  constexpr std::size_t most_free = 3;
  const std::vector<FreeParameter> all = choices(rule);
  rule.free.clear();
  for (std::size_t count = 0; count <= std::min(most_free, all.size()); ++count)
    if (declare(rule, all, 0, count)) return true;
  return false;
}

void shift_variable(Substitution& rule, const std::string& name, const RuleExpression& amount) {
  for (RuleInput& input : rule.inputs)
    for (RuleExpression& size : input.shape) shift(size, name, amount);
  for (RuleTerm& term : rule.terms)
    for (auto& [attribute, value] : term.attributes) shift(value, name, amount);
  for (RuleCondition& condition : rule.conditions)
    for (RuleExpression& argument : condition.arguments) shift(argument, name, amount);
  for (FreeParameter& free : rule.free) {
    shift(free.expression, name, amount);
    if (free.source == FreeParameter::Source::divisors) shift(free.size, name, amount);
  }
}

Substitution with_positive_parameters(Substitution rule) {
  const std::vector<RuleParameter> parameters = rule.parameters;
  RuleExpression number;
  number.literal = std::int64_t{1};
  for (const RuleParameter& parameter : parameters)
    if (parameter.range == RuleParameter::Range::dimension)
      shift_variable(rule, parameter.name, number);
  return rule;
}

}  // namespace lemma::generator
