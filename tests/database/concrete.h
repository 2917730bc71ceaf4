#pragma once
// A concrete instance of a rule, as an enumeration would find it: numbers of axes, axes,
// permutations, strides and so on are fixed, sizes stay symbols.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "database/expressions.h"
#include "database/normal_form.h"
#include "rule_language/real_parameters.h"
#include "rule_language/rule_cases.h"
#include "rule_language/substitution.h"

namespace lemma::database {

/// Symbols of groups and parameters become names or numbers.
inline DimensionBindings plain_names(const Substitution& rule, const RuleBindings& bindings,
                                     std::int64_t number) {
  DimensionBindings result;
  int next = 0;
  for (const auto& [name, shape] : bindings.groups)
    for (const Dimension& size : shape)
      if (const auto symbol = size.as_symbol())
        result.try_emplace(*symbol, Dimension::symbol("size" + std::to_string(++next)));
  for (const RuleParameter& parameter : rule.parameters) {
    const AttributeValue& value = bindings.parameters.at(parameter.name);
    if (const auto* size = std::get_if<Dimension>(&value))
      if (const auto symbol = size->as_symbol()) result.try_emplace(*symbol, Dimension(number));
    if (const auto* list = std::get_if<Shape>(&value))
      for (const Dimension& size : *list)
        if (const auto symbol = size.as_symbol()) result.try_emplace(*symbol, Dimension(number));
  }
  return result;
}

inline std::optional<RuleExpression> expression_of(const AttributeValue& value,
                                                   const DimensionBindings& names) {
  AttributeValue plain = value;
  if (auto* size = std::get_if<Dimension>(&plain)) *size = substitute(*size, names);
  if (auto* list = std::get_if<Shape>(&plain))
    for (Dimension& size : *list) size = substitute(size, names);
  auto parsed = parse_rule_expression(case_text(plain));
  return parsed ? std::optional(std::move(*parsed)) : std::nullopt;
}

/// Nothing if attributes cannot be written. `number` is what strides, pads, ... are.
inline std::optional<Substitution> concrete_instance(const Substitution& rule, const RuleCase& one,
                                                     std::int64_t number) {
  const DimensionBindings names = plain_names(rule, one.bindings, number);
  Graph graph;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < rule.inputs.size(); ++i)
    inputs.push_back(*graph.add_input(rule.inputs[i].name, one.inputs[i]));
  Substitution result = rule;
  result.groups.clear();
  result.parameters.clear();
  result.conditions.clear();
  for (std::size_t i = 0; i < rule.inputs.size(); ++i) {
    result.inputs[i].shape.clear();
    for (const Dimension& size : *one.inputs[i].shape) {
      auto item = expression_of(AttributeValue(size), names);
      if (!item) return std::nullopt;
      result.inputs[i].shape.push_back(std::move(*item));
    }
  }
  for (RuleTerm& term : result.terms) {
    const auto values =
        term.is_input ? Result<Attributes>(Attributes{}) : evaluate_attributes(term, one.bindings);
    if (!values) return std::nullopt;
    for (auto& [name, expression] : term.attributes) {
      const AttributeValue* value = values->find(name);
      auto written = value != nullptr ? expression_of(*value, names) : std::nullopt;
      if (!written) return std::nullopt;
      expression = std::move(*written);
    }
  }
  return normal_form(result);
}

/// The case with about two axes for each group, and parameters that are not all alike.
inline std::optional<RuleCase> typical_case(const Substitution& rule) {
  const auto cases = cases_of(rule);
  if (!cases || cases->empty()) return std::nullopt;
  const RuleCase* best = nullptr;
  int best_score = 0;
  for (const RuleCase& one : *cases) {
    int score = 0;
    for (const auto& [name, shape] : one.bindings.groups) {
      score -= shape.size() > 2 ? 4 : 2 - static_cast<int>(shape.size());
      for (const Dimension& size : shape) score -= size.is(1) ? 1 : 0;
    }
    for (const auto& [name, value] : one.bindings.parameters)
      if (const auto* order = std::get_if<Integers>(&value))
        for (std::size_t i = 0; i < order->size(); ++i)
          score += (*order)[i] != static_cast<std::int64_t>(i) ? 1 : 0;
    if (best == nullptr || score > best_score) best = &one, best_score = score;
  }
  return *best;
}

}  // namespace lemma::database
