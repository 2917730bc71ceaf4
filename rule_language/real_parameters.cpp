#include "rule_language/real_parameters.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "rule_language/substitution_analysis.h"

namespace lemma {
namespace {

bool is_real_parameter(const Substitution& rule, const std::string& name) {
  return std::any_of(rule.parameters.begin(), rule.parameters.end(), [&](const auto& parameter) {
    return parameter.name == name && parameter.range == RuleParameter::Range::real;
  });
}

bool mentions_real(const RuleExpression& expression, const Substitution& rule) {
  bool is_used = false;
  detail::for_each_expression(expression, [&](const RuleExpression& e) {
    is_used =
        is_used || (e.kind == RuleExpression::Kind::variable && is_real_parameter(rule, e.name));
  });
  return is_used;
}

bool is_comparing_call(const RuleExpression& expression) {
  return expression.kind == RuleExpression::Kind::call &&
         (expression.name == "real_max" || expression.name == "real_min");
}

/// Maxima and minima of real parameters and 0: all that their order decides.
bool is_ordered(const RuleExpression& expression, const Substitution& rule) {
  using Kind = RuleExpression::Kind;
  if (expression.kind == Kind::variable) return is_real_parameter(rule, expression.name);
  if (expression.kind == Kind::literal) {
    const auto* value = std::get_if<double>(&expression.literal);
    return value != nullptr && *value == 0;
  }
  return is_comparing_call(expression) &&
         std::all_of(expression.arguments.begin(), expression.arguments.end(),
                     [&rule](const RuleExpression& e) { return is_ordered(e, rule); });
}

bool has_token_literal(const RuleExpression& expression, std::size_t count) {
  bool has_token = false;
  detail::for_each_expression(expression, [&](const RuleExpression& e) {
    has_token =
        has_token || (e.kind == RuleExpression::Kind::literal && has_real_token(e.literal, count));
  });
  return has_token;
}

Result<void> check_attribute(const Substitution& rule, const RuleTerm& term,
                             const std::string& name, const RuleExpression& value,
                             std::size_t count) {
  if (has_token_literal(value, count))
    return bad_input(fmt::format("attribute {} is a number that stands for a parameter", name));
  if (!mentions_real(value, rule)) return {};
  const AttributeSpecification* specification = detail::find_attribute(record(term.op), name);
  if (is_ordered(value, rule) && specification != nullptr &&
      specification->kind == AttributeKind::real)
    return {};
  return bad_input(fmt::format("attribute {} computes with a real parameter", name));
}

Result<void> check_condition(const Substitution& rule, const RuleCondition& condition,
                             std::size_t count) {
  const std::vector<RuleExpression>& arguments = condition.arguments;
  for (const RuleExpression& argument : arguments)
    if (has_token_literal(argument, count))
      return bad_input(
          fmt::format("the number {} in a condition stands for a parameter", text(argument)));
  const bool mentions = std::any_of(arguments.begin(), arguments.end(),
                                    [&](const auto& e) { return mentions_real(e, rule); });
  if (!mentions) return {};
  const bool compares = condition.kind == RuleCondition::Kind::predicate &&
                        condition.predicate == "real_less_equal" &&
                        std::all_of(arguments.begin(), arguments.end(),
                                    [&](const auto& e) { return is_ordered(e, rule); });
  if (compares) return {};
  return bad_input("a condition computes with a real parameter");
}

}  // namespace

std::size_t count_real_parameters(const Substitution& rule) {
  return static_cast<std::size_t>(std::count_if(
      rule.parameters.begin(), rule.parameters.end(),
      [](const auto& parameter) { return parameter.range == RuleParameter::Range::real; }));
}

std::string case_text(const AttributeValue& value) {
  const auto* symbol = std::get_if<RealSymbol>(&value);
  if (symbol == nullptr) return text(value);
  return text(AttributeValue(static_cast<double>(symbol->rank) * real_parameter_unit));
}

std::vector<AttributeValue> real_parameter_values(std::size_t count) {
  const auto most = static_cast<std::int64_t>(count);
  std::vector<AttributeValue> result;
  for (std::int64_t k = -most; k <= most; ++k)
    result.push_back(k == 0 ? AttributeValue(0.0) : AttributeValue(RealSymbol{k}));
  return result;
}

std::size_t gaps_between(const std::vector<AttributeValue>& taken) {
  std::size_t result = 0;
  for (const std::int64_t sign : {-1, 1}) {
    std::set<std::int64_t> magnitudes;
    for (const AttributeValue& value : taken)
      if (const auto* symbol = std::get_if<RealSymbol>(&value);
          symbol != nullptr && symbol->rank * sign > 0)
        magnitudes.insert(symbol->rank * sign);
    if (magnitudes.empty()) continue;
    result += static_cast<std::size_t>(*magnitudes.rbegin()) - magnitudes.size();
  }
  return result;
}

std::vector<GivenParameters> orders_of_reals(const Substitution& rule) {
  const std::vector<AttributeValue> values = real_parameter_values(count_real_parameters(rule));
  std::vector<std::string> names;
  std::vector<std::vector<AttributeValue>> choices = {{}};
  for (const RuleParameter& parameter : rule.parameters) {
    if (parameter.range != RuleParameter::Range::real) continue;
    names.push_back(parameter.name);
    std::vector<std::vector<AttributeValue>> longer;
    for (const std::vector<AttributeValue>& choice : choices)
      for (const AttributeValue& value : values) {
        longer.push_back(choice);
        longer.back().push_back(value);
      }
    choices = std::move(longer);
  }
  std::vector<GivenParameters> result;
  for (const std::vector<AttributeValue>& choice : choices) {
    if (gaps_between(choice) > 0) continue;
    GivenParameters& given = result.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) given[names[i]] = choice[i];
  }
  return result;
}

bool is_real_token(double value, std::size_t count) {
  const double steps = std::round(value / real_parameter_unit);
  return steps != 0 && std::abs(steps) <= static_cast<double>(count) &&
         steps * real_parameter_unit == value;
}

bool has_real_token(const AttributeValue& value, std::size_t count) {
  if (std::holds_alternative<RealSymbol>(value)) return true;
  if (const auto* real = std::get_if<double>(&value)) return is_real_token(*real, count);
  const auto* list = std::get_if<Reals>(&value);
  return list != nullptr && std::any_of(list->begin(), list->end(),
                                        [&](double real) { return is_real_token(real, count); });
}

Result<void> check_reals_are_compared(const Substitution& rule, std::size_t count) {
  for (const RuleTerm& term : rule.terms)
    for (const auto& [name, value] : term.attributes)
      LEMMA_RETURN_IF_ERROR(check_attribute(rule, term, name, value, count));
  for (const RuleCondition& condition : rule.conditions)
    LEMMA_RETURN_IF_ERROR(check_condition(rule, condition, count));
  return {};
}

bool compares_reals(const Substitution& rule) {
  for (const RuleTerm& term : rule.terms)
    for (const auto& [name, value] : term.attributes)
      if (is_comparing_call(value) && mentions_real(value, rule)) return true;
  for (const RuleCondition& condition : rule.conditions)
    for (const RuleExpression& argument : condition.arguments)
      if (mentions_real(argument, rule)) return true;
  return false;
}

Result<void> check_no_other_tokens(const Substitution& rule, const RuleBindings& bindings,
                                   std::size_t count) {
  for (const auto* roots : {&rule.left, &rule.right})
    for (const TermId id : detail::reachable_terms(rule, *roots)) {
      const RuleTerm& term = rule.terms[id.v];
      for (const auto& [name, expression] : term.attributes) {
        if (mentions_real(expression, rule)) continue;
        const auto* specification = detail::find_attribute(record(term.op), name);
        if (specification == nullptr) continue;
        const auto value = evaluate_attribute(expression, specification->kind, bindings);
        if (value && has_real_token(*value, count))
          return bad_input(
              fmt::format("attribute {} is a number that stands for a parameter", name));
      }
    }
  return {};
}

}  // namespace lemma
