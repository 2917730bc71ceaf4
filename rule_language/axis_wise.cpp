#include "rule_language/axis_wise.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "rule_language/rule_cases.h"
#include "rule_language/substitution_analysis.h"

namespace lemma {
namespace {

using Groups = std::set<std::string>;

bool is_group(const Substitution& rule, const std::string& name) {
  return std::any_of(rule.groups.begin(), rule.groups.end(),
                     [&name](const RuleGroup& group) { return group.name == name; });
}

bool mentions_group(const Substitution& rule, const RuleExpression& expression) {
  bool is_mentioned = false;
  detail::for_each_expression(expression, [&](const RuleExpression& e) {
    is_mentioned = is_mentioned || e.kind == RuleExpression::Kind::splice || is_group(rule, e.name);
  });
  return is_mentioned;
}

/// The groups that each term's elements depend on.
std::vector<Groups> groups_of_terms(const Substitution& rule) {
  std::vector<Groups> result;
  for (const RuleTerm& term : rule.terms) {
    Groups groups;
    if (term.is_input && !rule.inputs[term.input].shape.empty())
      groups.insert(rule.inputs[term.input].shape[0].name);
    for (const TermId operand : term.operands)
      if (!operand.is_none()) groups.insert(result[operand.v].begin(), result[operand.v].end());
    result.push_back(std::move(groups));
  }
  return result;
}

// ---- Definitions -------------------------------------------------------------------------------

/// The definition without its indices: equal ones compute the same of the elements that they read.
/// Nothing if it reads otherwise than described, or uses indices for something else.
std::optional<std::string> function_of_elements(const Definition& definition,
                                                const std::vector<TensorType>& operands) {
  if (definition.outputs().size() != 1) return std::nullopt;
  const DefinedOutput& output = definition.outputs()[0];
  std::string result;
  std::set<std::uint32_t> index_nodes;
  for (std::uint32_t id = 0; id < definition.nodes().size(); ++id) {
    const ExpressionNode& node = definition.nodes()[id];
    if (node.kind != ExpressionKind::read) continue;
    const Shape& shape = *operands[node.input].shape;
    const std::size_t rank = shape.size(), all = output.axes.size();
    if (node.operands.size() != rank || rank > all) return std::nullopt;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const ExpressionNode& index = definition.node(node.operands[axis]);
      const bool fits = shape[axis].is(1)
                            ? index.kind == ExpressionKind::integer_constant && index.integer == 0
                            : index.kind == ExpressionKind::index &&
                                  index.variable == output.axes[all - rank + axis];
      if (!fits) return std::nullopt;
      index_nodes.insert(node.operands[axis].v);
    }
  }
  std::vector<std::string> texts;
  for (std::uint32_t id = 0; id < definition.nodes().size(); ++id) {
    const ExpressionNode& node = definition.nodes()[id];
    std::string text =
        fmt::format("{} {} {} {} {}", static_cast<int>(node.kind), static_cast<int>(node.function),
                    static_cast<int>(node.type), node.integer, node.real);
    if (node.kind == ExpressionKind::read) {
      text += fmt::format(" {}", node.input);
    } else {
      if (node.kind == ExpressionKind::extent || is_reduction(node.kind)) return std::nullopt;
      for (const ExpressionId operand : node.operands) {
        if (definition.node(operand).kind == ExpressionKind::index) return std::nullopt;
        text += fmt::format("({})", texts[operand.v]);
      }
    }
    texts.push_back(node.kind == ExpressionKind::index ? "" : std::move(text));
  }
  return texts[output.value.v];
}

/// Which operands have size 1 along an axis: bit i for operand i.
using Pattern = std::size_t;

/// Operands with an axis for each pattern; where they do not have size 1 they have a common size.
std::vector<TensorType> operands_with(const std::vector<TensorType>& scalars,
                                      const std::vector<Pattern>& patterns) {
  std::vector<TensorType> result = scalars;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i].data_type == DataType::undefined) continue;
    Shape shape;
    for (std::size_t axis = 0; axis < patterns.size(); ++axis)
      shape.push_back((patterns[axis] >> i & 1U) != 0
                          ? Dimension(1)
                          : Dimension::symbol(fmt::format("_n{}", axis)));
    result[i].shape = std::move(shape);
  }
  return result;
}

/// One pattern for all axes, and patterns that change from axis to axis.
std::vector<std::vector<Pattern>> patterns_of(std::size_t operands, std::size_t rank) {
  const Pattern count = Pattern{1} << operands;  // the last one is all ones
  std::vector<std::vector<Pattern>> result;
  for (Pattern first = 0; first + 1 < std::max<Pattern>(count, 2); ++first)
    for (const std::size_t step : {0U, 1U}) {
      std::vector<Pattern> patterns;
      for (std::size_t axis = 0; axis < rank; ++axis)
        patterns.push_back((first + step * axis) % count);
      result.push_back(std::move(patterns));
    }
  return result;
}

bool has_broadcast_shape(const Shape& shape, const std::vector<TensorType>& operands) {
  Shape expected(shape.size(), Dimension(1));
  for (const TensorType& operand : operands) {
    if (operand.data_type == DataType::undefined) continue;
    if (operand.shape->size() != shape.size()) return false;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      if (!operand.shape->at(axis).is(1)) expected[axis] = operand.shape->at(axis);
  }
  return shape == expected;
}

bool is_elementwise_at_all_ranks(const OperatorRecord& op, const std::vector<TensorType>& scalars,
                                 const Attributes& attributes, std::size_t most_axes) {
  constexpr std::size_t most_operands = 4;
  if (op.define == nullptr || scalars.size() > most_operands) return false;
  std::optional<std::string> function;
  for (std::size_t rank = 0; rank <= most_axes; ++rank)
    for (const std::vector<Pattern>& patterns : patterns_of(scalars.size(), rank)) {
      const std::vector<TensorType> operands = operands_with(scalars, patterns);
      const Instance instance{operands, attributes, 1};
      const auto types = infer_types(op, instance);
      if (!types || types->size() != 1 || !has_broadcast_shape(*(*types)[0].shape, operands))
        return false;
      const auto element_function = function_of_elements(op.define(instance), operands);
      if (!element_function || (function && *function != *element_function)) return false;
      function = element_function;
    }
  return true;
}

/// All operations of a side over scalars.
bool are_elementwise(const Graph& graph, std::size_t most_axes, bool with_scalars) {
  return std::all_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) {
    if (node.kind != NodeKind::operation) return node.kind == NodeKind::input;
    const OperatorRecord& op = graph.op(node);
    // The same number wherever it is read: its attributes do not depend on groups.
    if (with_scalars && node.inputs.empty() && node.output_count == 1 &&
        graph.type(node.output()).shape == Shape{})
      return true;
    return op.has(elementwise) && node.output_count == 1 &&
           is_elementwise_at_all_ranks(op, graph.input_types(node), node.attributes, most_axes);
  });
}

/// `with_scalars`: inputs and terms without operands may be scalars, which are read at no index.
bool treats_axes_alike(const Substitution& rule, bool with_scalars) {
  if (rule.groups.empty() || !rule.conditions.empty()) return false;
  for (const RuleInput& input : rule.inputs)
    if (!(with_scalars && input.shape.empty()) &&
        (input.shape.size() != 1 || input.shape[0].kind != RuleExpression::Kind::splice))
      return false;
  for (const RuleTerm& term : rule.terms)
    for (const auto& [name, value] : term.attributes)
      if (mentions_group(rule, value)) return false;
  for (const RuleParameter& parameter : rule.parameters)
    for (const RuleExpression& bound : parameter.bounds)
      if (mentions_group(rule, bound)) return false;
  const std::vector<Groups> groups = groups_of_terms(rule);
  for (std::size_t i = 0; i < rule.left.size(); ++i)
    if (groups[rule.left[i].v] != groups[rule.right[i].v]) return false;
  std::size_t most_axes = 0;
  std::map<std::string, std::size_t> scalars;
  for (const RuleGroup& group : rule.groups) {
    most_axes = std::max(most_axes, group.maximum);
    scalars[group.name] = 0;
  }
  const auto cases = cases_with_ranks(rule, scalars, {}, {});
  if (!cases || !*cases || (*cases)->empty()) return false;
  for (const RuleCase& rule_case : **cases)
    for (const auto* roots : {&rule.left, &rule.right}) {
      const auto graph = side_as_graph(rule, *roots, rule_case.inputs, rule_case.bindings);
      if (!graph || !are_elementwise(*graph, most_axes, with_scalars)) return false;
    }
  return true;
}

}  // namespace

bool treats_axes_alike(const Substitution& rule) { return treats_axes_alike(rule, false); }

bool is_proved_for_scalars(const Substitution& rule) {
  return rule.groups.size() > 1 &&
         std::all_of(rule.groups.begin(), rule.groups.end(),
                     [](const RuleGroup& group) {
                       return group.minimum == 0 && group.maximum == most_axes_of_group;
                     }) &&
         treats_axes_alike(rule, true);
}

}  // namespace lemma
