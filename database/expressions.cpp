#include "database/expressions.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace lemma::database {

using Kind = RuleExpression::Kind;

RuleExpression literal(std::int64_t value) { return {Kind::literal, value, "", {}}; }
RuleExpression variable(std::string name) { return {Kind::variable, {}, std::move(name), {}}; }
RuleExpression splice(std::string group) { return {Kind::splice, {}, std::move(group), {}}; }
RuleExpression list(std::vector<RuleExpression> elements) {
  return {Kind::list, {}, "", std::move(elements)};
}
RuleExpression call(std::string function, std::vector<RuleExpression> arguments) {
  return {Kind::call, {}, std::move(function), std::move(arguments)};
}
RuleExpression sum(RuleExpression a, RuleExpression b) {
  return {Kind::add, {}, "", {std::move(a), std::move(b)}};
}
RuleExpression product(RuleExpression a, RuleExpression b) {
  return {Kind::multiply, {}, "", {std::move(a), std::move(b)}};
}

std::optional<std::int64_t> integer_of(const RuleExpression& expression) {
  if (expression.kind != Kind::literal) return std::nullopt;
  const auto* value = std::get_if<std::int64_t>(&expression.literal);
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

std::optional<std::string> name_of(const RuleExpression& expression) {
  if (expression.kind != Kind::variable) return std::nullopt;
  return expression.name;
}

void visit_inside(RuleExpression& expression, const std::function<void(RuleExpression&)>& visit) {
  visit(expression);
  for (RuleExpression& argument : expression.arguments) visit_inside(argument, visit);
}

void visit_expressions(Substitution& rule, const std::function<void(RuleExpression&)>& visit) {
  for (RuleInput& input : rule.inputs)
    for (RuleExpression& item : input.shape) visit_inside(item, visit);
  for (RuleParameter& parameter : rule.parameters)
    for (RuleExpression& bound : parameter.bounds) visit_inside(bound, visit);
  for (FreeParameter& free : rule.free) {
    visit_inside(free.expression, visit);
    visit_inside(free.size, visit);
  }
  for (RuleCondition& condition : rule.conditions)
    for (RuleExpression& argument : condition.arguments) visit_inside(argument, visit);
  for (RuleTerm& term : rule.terms)
    for (auto& [name, value] : term.attributes) visit_inside(value, visit);
}

std::vector<std::string> names_in(const RuleExpression& expression) {
  std::vector<std::string> result;
  RuleExpression copy = expression;
  visit_inside(copy, [&result](RuleExpression& e) {
    if ((e.kind == Kind::variable || e.kind == Kind::splice) &&
        std::find(result.begin(), result.end(), e.name) == result.end())
      result.push_back(e.name);
  });
  return result;
}

std::vector<std::string> all_names(const Substitution& rule) {
  std::vector<std::string> result;
  for (const RuleInput& input : rule.inputs) result.push_back(input.name);
  for (const RuleGroup& group : rule.groups) result.push_back(group.name);
  for (const RuleParameter& parameter : rule.parameters) result.push_back(parameter.name);
  Substitution copy = rule;
  visit_expressions(copy, [&result](RuleExpression& e) {
    if (e.kind == Kind::variable || e.kind == Kind::splice) result.push_back(e.name);
  });
  return result;
}

std::string fresh_name(const Substitution& rule, const std::string& stem) {
  const std::vector<std::string> taken = all_names(rule);
  std::string name = stem;
  for (int i = 2; std::find(taken.begin(), taken.end(), name) != taken.end(); ++i)
    name = fmt::format("{}{}", stem, i);
  return name;
}

}  // namespace lemma::database
