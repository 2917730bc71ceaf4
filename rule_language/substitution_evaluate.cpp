// Values of a rule's expressions and conditions, and terms as graph nodes, once variables are bound.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ir/attribute_conversion.h"
#include "rule_language/real_arithmetic.h"
#include "rule_language/substitution.h"
#include "rule_language/substitution_analysis.h"

namespace lemma {
namespace {

using Value = Result<AttributeValue>;

Value evaluate(const RuleExpression& e, const RuleBindings& bindings);

Value evaluate_variable(const std::string& name, const RuleBindings& bindings) {
  if (auto entry = bindings.parameters.find(name); entry != bindings.parameters.end())
    return entry->second;
  if (auto entry = bindings.dimensions.find(name); entry != bindings.dimensions.end())
    return AttributeValue(entry->second);
  if (auto entry = bindings.groups.find(name); entry != bindings.groups.end())
    return AttributeValue(entry->second);
  return bad_input(fmt::format("variable '{}' has no value", name));
}

Value evaluate_arithmetic(const RuleExpression& e, const RuleBindings& bindings) {
  LEMMA_ASSIGN_OR_RETURN(const AttributeValue left, evaluate(e.arguments[0], bindings));
  LEMMA_ASSIGN_OR_RETURN(const AttributeValue right, evaluate(e.arguments[1], bindings));
  const bool adds = e.kind == RuleExpression::Kind::add;
  const bool subtracts = e.kind == RuleExpression::Kind::subtract;
  if (const auto a = to_dimension(left), b = to_dimension(right); a && b) {
    Dimension result = adds ? *a + *b : subtracts ? *a - *b : *a * *b;
    if (!result.is_valid()) return bad_input("the value overflows");
    if (const auto constant = result.constant()) return *constant;
    return result;
  }
  if (is_real_symbol(left) || is_real_symbol(right))
    return bad_input("nothing can be computed with a real parameter");
  if (const auto a = to_real(left), b = to_real(right);
      a && b && std::isfinite(*a) && std::isfinite(*b)) {
    const auto result = adds        ? exact_sum(*a, *b)
                        : subtracts ? exact_difference(*a, *b)
                                    : exact_product(*a, *b);
    if (result) return *result;
    return bad_input(fmt::format("the result for {} and {} is not a number of f64", *a, *b));
  }
  return bad_input(fmt::format("cannot compute with {} and {}", text(left), text(right)));
}

Value evaluate_list(const RuleExpression& e, const RuleBindings& bindings) {
  Shape dimensions;
  std::vector<std::pair<std::size_t, double>> reals;  // and where they stand
  for (const RuleExpression& element : e.arguments) {
    if (element.kind == RuleExpression::Kind::splice) {
      const auto group = bindings.groups.find(element.name);
      if (group == bindings.groups.end())
        return bad_input(fmt::format("group '{}' has no value", element.name));
      dimensions.insert(dimensions.end(), group->second.begin(), group->second.end());
      continue;
    }
    LEMMA_ASSIGN_OR_RETURN(const AttributeValue value, evaluate(element, bindings));
    const auto dimension = to_dimension(value);
    const auto* real = std::get_if<double>(&value);
    if (!dimension && real == nullptr)
      return bad_input(fmt::format("{} cannot be an element of a list", text(value)));
    if (real != nullptr) reals.emplace_back(dimensions.size(), *real);
    dimensions.push_back(dimension.value_or(Dimension()));
  }
  if (reals.empty()) return dimensions;
  const auto sizes = constant_sizes(dimensions);
  if (!sizes) return bad_input("a list mixes reals and dimensions");
  Reals result(sizes->begin(), sizes->end());
  for (const auto& [position, real] : reals) result[position] = real;
  return result;
}

Value evaluate_call(const RuleExpression& e, const RuleBindings& bindings) {
  if (e.name == "len" && e.arguments[0].kind == RuleExpression::Kind::variable)
    if (auto entry = bindings.group_lengths.find(e.arguments[0].name);
        entry != bindings.group_lengths.end())
      return static_cast<std::int64_t>(entry->second);
  const AttributeFunction* function = find_attribute_function(e.name);
  if (function == nullptr || function->apply == nullptr)
    return bad_input(fmt::format("there is no function '{}'", e.name));
  std::vector<AttributeValue> arguments;
  for (const RuleExpression& argument : e.arguments) {
    LEMMA_ASSIGN_OR_RETURN(AttributeValue value, evaluate(argument, bindings));
    arguments.push_back(std::move(value));
  }
  auto result = function->apply(arguments);
  if (!result) return with_context(e.name, std::move(result.error()));
  return result;
}

Value evaluate(const RuleExpression& e, const RuleBindings& bindings) {
  switch (e.kind) {
    case RuleExpression::Kind::literal: return e.literal;
    case RuleExpression::Kind::variable: return evaluate_variable(e.name, bindings);
    case RuleExpression::Kind::splice:
      return bad_input(fmt::format("'{}..' stands outside a list", e.name));
    case RuleExpression::Kind::list: return evaluate_list(e, bindings);
    case RuleExpression::Kind::call: return evaluate_call(e, bindings);
    case RuleExpression::Kind::add:
    case RuleExpression::Kind::subtract:
    case RuleExpression::Kind::multiply: return evaluate_arithmetic(e, bindings);
  }
  return internal_error("unknown kind of expression");
}

}  // namespace

namespace detail {

std::optional<AttributeValue> value_of(const RuleExpression& expression,
                                       const RuleBindings& bindings) {
  bool known = true;
  for_each_expression(expression, [&](const RuleExpression& e) {
    if (e.kind == RuleExpression::Kind::variable)
      known = known && (bindings.parameters.contains(e.name) ||
                        bindings.dimensions.contains(e.name) || bindings.groups.contains(e.name));
  });
  if (!known) return std::nullopt;
  auto value = evaluate(expression, bindings);
  if (!value) return std::nullopt;
  return std::move(*value);
}

}  // namespace detail

Result<Dimension> evaluate_dimension(const RuleExpression& expression,
                                     const RuleBindings& bindings) {
  LEMMA_ASSIGN_OR_RETURN(const AttributeValue value, evaluate(expression, bindings));
  if (auto dimension = to_dimension(value)) return *dimension;
  return bad_input(fmt::format("{} is not a dimension", text(value)));
}

Result<AttributeValue> evaluate_attribute(const RuleExpression& expression, AttributeKind kind,
                                          const RuleBindings& bindings) {
  LEMMA_ASSIGN_OR_RETURN(AttributeValue value, evaluate(expression, bindings));
  if (kind_of(value) == kind && kind != AttributeKind::dimension) return value;
  if (auto converted = to_kind(value, kind)) return std::move(*converted);
  return bad_input(fmt::format("{} is not of kind {}", text(value), name(kind)));
}

Result<Attributes> evaluate_attributes(const RuleTerm& term, const RuleBindings& bindings) {
  Attributes result;
  const OperatorRecord& operator_record = record(term.op);
  for (const auto& [name, expression] : term.attributes) {
    const auto* specification = detail::find_attribute(operator_record, name);
    if (specification == nullptr)
      return bad_input(fmt::format("{} has no attribute '{}'", operator_record.name, name));
    auto value = evaluate_attribute(expression, specification->kind, bindings);
    if (!value) return with_context("attribute '" + name + "'", std::move(value.error()));
    result.set(name, std::move(*value));
  }
  return result;
}

// ---- Conditions -------------------------------------------------------------------------------

namespace {

bool certainly_at_least(const Dimension& a, const Dimension& b) {
  const auto low = lower_bound(a - b);
  return low && *low >= 0;
}

bool certainly_different(const Dimension& a, const Dimension& b) {
  return certainly_at_least(a, b + Dimension(1)) || certainly_at_least(b, a + Dimension(1));
}

bool certainly_different(const AttributeValue& a, const AttributeValue& b) {
  if (const auto x = to_dimension(a), y = to_dimension(b); x && y)
    return certainly_different(*x, *y);
  if (const auto x = to_dimensions(a), y = to_dimensions(b); x && y) {
    if (x->size() != y->size()) return true;
    for (std::size_t i = 0; i < x->size(); ++i)
      if (certainly_different((*x)[i], (*y)[i])) return true;
    return false;
  }
  const auto x = to_real(a), y = to_real(b);
  if (x && y) return *x != *y;
  return a.index() == b.index() && a != b;
}

bool holds(const RuleCondition& condition, const RuleBindings& bindings) {
  std::vector<AttributeValue> values;
  for (const RuleExpression& argument : condition.arguments) {
    auto value = evaluate(argument, bindings);
    if (!value) return false;
    values.push_back(std::move(*value));
  }
  const auto ordered = [&values](std::int64_t gap) {
    const auto a = to_dimension(values[0]), b = to_dimension(values[1]);
    return a && b && certainly_at_least(*b, *a + Dimension(gap));
  };
  switch (condition.kind) {
    case RuleCondition::Kind::equal: return same_value(values[0], values[1]);
    case RuleCondition::Kind::not_equal: return certainly_different(values[0], values[1]);
    case RuleCondition::Kind::less: return ordered(1);
    case RuleCondition::Kind::less_equal: return ordered(0);
    case RuleCondition::Kind::predicate: break;
  }
  const AttributeFunction* predicate = find_attribute_function(condition.predicate);
  return predicate != nullptr && predicate->holds != nullptr && predicate->holds(values);
}

bool is_size(const Dimension& dimension) { return certainly_at_least(dimension, Dimension(0)); }

bool is_permutation(Integers values) {
  std::sort(values.begin(), values.end());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

/// Whether a parameter's value is among those that proofs range over.
bool in_range(const RuleParameter& parameter, const RuleBindings& bindings) {
  using Range = RuleParameter::Range;
  const auto value = evaluate_variable(parameter.name, bindings);
  if (!value) return false;
  std::vector<Dimension> bounds;
  for (const RuleExpression& bound : parameter.bounds) {
    const auto size = evaluate_dimension(bound, bindings);
    if (!size) return false;
    bounds.push_back(*size);
  }
  switch (parameter.range) {
    case Range::dimensions: {
      const auto list = to_dimensions(*value);
      return list && bounds[0].is(static_cast<std::int64_t>(list->size())) &&
             std::all_of(list->begin(), list->end(), is_size);
    }
    case Range::permutation: {
      const auto list = to_integers(*value);
      return list && bounds[0].is(static_cast<std::int64_t>(list->size())) && is_permutation(*list);
    }
    case Range::integer: {
      const auto integer = to_integer(*value);
      return integer && certainly_at_least(Dimension(*integer), bounds[0]) &&
             certainly_at_least(bounds[1], Dimension(*integer) + Dimension(1));
    }
    case Range::dimension: {
      const auto dimension = to_dimension(*value);
      return dimension && is_size(*dimension);
    }
    case Range::real: {
      if (is_real_symbol(*value)) return true;
      const auto real = to_real(*value);
      return real && std::isfinite(*real);
    }
    case Range::type: {
      const auto* type = std::get_if<DataType>(&*value);
      return type != nullptr && is_real(*type);
    }
    case Range::strings: {
      const auto* string = std::get_if<std::string>(&*value);
      return string != nullptr && std::find(parameter.strings.begin(), parameter.strings.end(),
                                            *string) != parameter.strings.end();
    }
  }
  return false;
}

}  // namespace

bool conditions_hold(const Substitution& rule, const RuleBindings& bindings) {
  for (const RuleGroup& group : rule.groups) {
    const auto entry = bindings.groups.find(group.name);
    if (entry == bindings.groups.end() || entry->second.size() < group.minimum ||
        entry->second.size() > group.maximum)
      return false;
  }
  return std::all_of(rule.parameters.begin(), rule.parameters.end(),
                     [&](const RuleParameter& p) { return in_range(p, bindings); }) &&
         std::all_of(rule.conditions.begin(), rule.conditions.end(),
                     [&](const RuleCondition& c) { return holds(c, bindings); });
}

// ---- Terms ------------------------------------------------------------------------------------

Result<std::vector<ValueId>> add_rule_inputs(const Substitution& rule, const RuleBindings& bindings,
                                             Graph& graph) {
  std::vector<ValueId> inputs;
  for (const RuleInput& input : rule.inputs) {
    Shape shape;
    for (const RuleExpression& item : input.shape) {
      LEMMA_ASSIGN_OR_RETURN(Dimension size, evaluate_dimension(item, bindings));
      shape.push_back(std::move(size));
    }
    LEMMA_ASSIGN_OR_RETURN(const ValueId value,
                           graph.add_input(input.name, {DataType::f32, std::move(shape)}));
    inputs.push_back(value);
  }
  return inputs;
}

Result<std::vector<ValueId>> instantiate(const Substitution& rule, std::span<const TermId> roots,
                                         std::span<const ValueId> inputs,
                                         const RuleBindings& bindings, Graph& graph) {
  std::vector<ValueId> values(rule.terms.size(), ValueId::none());
  for (const TermId id : detail::reachable_terms(rule, roots)) {
    const RuleTerm& term = rule.terms[id.v];
    if (term.is_input) {
      if (term.input >= inputs.size() || inputs[term.input].is_none())
        return bad_input(fmt::format("input '{}' has no value", rule.inputs[term.input].name));
      values[id.v] = inputs[term.input];
      continue;
    }
    std::vector<ValueId> operands;
    for (const TermId operand : term.operands)
      operands.push_back(operand.is_none() ? ValueId::none() : values[operand.v]);
    LEMMA_ASSIGN_OR_RETURN(Attributes attributes, evaluate_attributes(term, bindings));
    LEMMA_ASSIGN_OR_RETURN(const NodeId node,
                           graph.add_operation(term.op, std::move(operands), std::move(attributes),
                                               term.output_count));
    values[id.v] = graph.node(node).output(term.output);
  }
  std::vector<ValueId> result;
  for (const TermId root : roots) result.push_back(values[root.v]);
  return result;
}

}  // namespace lemma
