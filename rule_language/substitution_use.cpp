#include "rule_language/substitution_use.h"

#include <algorithm>

#include <fmt/format.h>

#include "rule_language/rule_cases.h"
#include "rule_language/substitution_analysis.h"

namespace lemma {

std::vector<std::string> variable_names(const Substitution& rule) {
  std::vector<std::string> result;
  for (const RuleGroup& group : rule.groups) result.push_back(group.name);
  for (const RuleParameter& parameter : rule.parameters) result.push_back(parameter.name);
  for (std::string& name : dimension_variables(rule)) result.push_back(std::move(name));
  return result;
}

namespace {

AttributeKind kind_of(const RuleParameter& parameter) {
  switch (parameter.range) {
    case RuleParameter::Range::dimensions: return AttributeKind::dimensions;
    case RuleParameter::Range::permutation: return AttributeKind::integers;
    case RuleParameter::Range::integer: return AttributeKind::integer;
    case RuleParameter::Range::dimension: return AttributeKind::dimension;
    case RuleParameter::Range::real: return AttributeKind::real;
    case RuleParameter::Range::type: return AttributeKind::data_type;
    case RuleParameter::Range::strings: break;
  }
  return AttributeKind::string;
}

/// Seen to be at least 0, or the size of an axis of an input.
bool is_size(const Substitution& rule, const std::string& name, const Dimension& value) {
  const auto low = lower_bound(value);
  if (low && *low >= 0) return true;
  return std::any_of(rule.inputs.begin(), rule.inputs.end(), [&name](const RuleInput& input) {
    return std::any_of(input.shape.begin(), input.shape.end(), [&name](const RuleExpression& e) {
      return e.kind == RuleExpression::Kind::variable && e.name == name;
    });
  });
}

}  // namespace

Result<void> bind_variable(const Substitution& rule, const std::string& name,
                           const RuleExpression& expression, const RuleBindings& values,
                           RuleBindings& bindings) {
  const auto is_named = [&name](const auto& declared) { return declared.name == name; };
  const auto parameter = std::find_if(rule.parameters.begin(), rule.parameters.end(), is_named);
  if (parameter != rule.parameters.end()) {
    LEMMA_ASSIGN_OR_RETURN(bindings.parameters[name],
                           evaluate_attribute(expression, kind_of(*parameter), values));
  } else if (std::any_of(rule.groups.begin(), rule.groups.end(), is_named)) {
    LEMMA_ASSIGN_OR_RETURN(AttributeValue list,
                           evaluate_attribute(expression, AttributeKind::dimensions, values));
    bindings.groups[name] = std::get<Shape>(std::move(list));
  } else {
    LEMMA_ASSIGN_OR_RETURN(bindings.dimensions[name], evaluate_dimension(expression, values));
  }
  return {};
}

namespace {

void collect_divisors(const RuleExpression& expression, const RuleBindings& bindings,
                      std::vector<Dimension>& divisors) {
  detail::for_each_expression(expression, [&](const RuleExpression& e) {
    const bool divides = e.kind == RuleExpression::Kind::call &&
                         (e.name == "divide" || e.name == "floordiv" || e.name == "floormod");
    if (!divides) return;
    if (const auto divisor = evaluate_dimension(e.arguments[1], bindings))
      divisors.push_back(*divisor);
  });
}

}  // namespace

std::vector<Dimension> divisors_of(const Substitution& rule, const std::vector<TermId>& roots,
                                   const RuleBindings& bindings) {
  std::vector<Dimension> result;
  for (const TermId id : detail::reachable_terms(rule, roots))
    for (const auto& [name, value] : rule.terms[id.v].attributes)
      collect_divisors(value, bindings, result);
  return result;
}

std::vector<Dimension> shared_divisors_of(const Substitution& rule, const RuleBindings& bindings) {
  std::vector<Dimension> result;
  for (const RuleInput& input : rule.inputs)
    for (const RuleExpression& item : input.shape) collect_divisors(item, bindings, result);
  for (const RuleCondition& condition : rule.conditions)
    for (const RuleExpression& argument : condition.arguments)
      collect_divisors(argument, bindings, result);
  return result;
}

Result<void> check_guards(const Graph& graph, const SubstitutionUse& use) {
  const Substitution& rule = *use.substitution;
  if (use.inputs.size() != rule.inputs.size()) return bad_input("an input has no value");
  std::vector<Shape> shapes;
  DataType shared = DataType::undefined;
  for (std::size_t i = 0; i < use.inputs.size(); ++i) {
    const TensorType& type = graph.type(use.inputs[i]);
    if (!type.is_known()) return bad_input("an input has an unknown type");
    const DataType written = rule.inputs[i].data_type;
    if (written == DataType::undefined && shared == DataType::undefined) shared = type.data_type;
    const bool fits = written == DataType::undefined
                          ? is_real(type.data_type) && type.data_type == shared
                          : type.data_type == written;
    if (!fits)
      return bad_input(fmt::format("it is not about elements of type {} in '{}'",
                                   name(type.data_type), rule.inputs[i].name));
    shapes.push_back(*type.shape);
  }
  for (const RuleParameter& parameter : rule.parameters)
    if (parameter.range == RuleParameter::Range::type && shared != DataType::undefined &&
        use.bindings.parameters.at(parameter.name) != AttributeValue(shared))
      return bad_input(fmt::format("'{}' is not the type of the inputs", parameter.name));
  for (const auto& [name, value] : use.bindings.dimensions)
    if (!is_size(rule, name, value))
      return bad_input(fmt::format("'{}' = {} may be negative", name, value.text()));
  if (!shapes_agree(rule, shapes, use.bindings))
    return bad_input("the inputs do not have the shapes that it declares");
  if (!conditions_hold(rule, use.bindings)) return bad_input("its conditions do not hold");
  return {};
}

Result<void> check_same_types(const Graph& graph, const Sides& sides) {
  for (std::size_t i = 0; i < sides.left.size(); ++i) {
    const TensorType &left = graph.type(sides.left[i]), &right = graph.type(sides.right[i]);
    if (!(left == right))
      return bad_input(
          fmt::format("output {} has the types {} and {}", i, text(left), text(right)));
  }
  return {};
}

Result<Sides> sides_of(Graph& graph, const SubstitutionUse& use) {
  LEMMA_RETURN_IF_ERROR(check_guards(graph, use));
  const Substitution& rule = *use.substitution;
  Sides result;
  LEMMA_ASSIGN_OR_RETURN(result.left,
                         instantiate(rule, rule.left, use.inputs, use.bindings, graph));
  LEMMA_ASSIGN_OR_RETURN(result.right,
                         instantiate(rule, rule.right, use.inputs, use.bindings, graph));
  LEMMA_RETURN_IF_ERROR(check_same_types(graph, result));
  return result;
}

}  // namespace lemma
