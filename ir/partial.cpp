#include "ir/partial.h"

#include <algorithm>
#include <vector>

#include "ir/definition.h"
#include "ir/graph.h"
#include "ir/operator_document.h"
#include "ir/substitution_analysis.h"

namespace lemma {
namespace {

bool is_partial_function(const ExpressionNode& node) {
  switch (node.function) {
    case ScalarFunction::log:
    case ScalarFunction::sqrt:
    case ScalarFunction::reciprocal:
    case ScalarFunction::tan:
    case ScalarFunction::asin:
    case ScalarFunction::acos:
    case ScalarFunction::acosh:
    case ScalarFunction::atanh: return true;
    default: return false;
  }
}

bool is_function(const ExpressionNode& node, ScalarFunction function) {
  return node.kind == ExpressionKind::function && node.function == function;
}

/// 1 + exp(...), 1 + |...|
bool is_surely_positive(const Definition& definition, ExpressionId id) {
  const ExpressionNode& node = definition.node(id);
  if (node.kind != ExpressionKind::add) return false;
  const ExpressionNode& first = definition.node(node.operands[0]);
  const ExpressionNode& second = definition.node(node.operands[1]);
  return first.kind == ExpressionKind::real_constant && first.real > 0 &&
         (is_function(second, ScalarFunction::exp) ||
          is_function(second, ScalarFunction::absolute));
}

/// Operands come before their users, so that one pass sees what depends on elements.
bool is_partial(const Definition& definition) {
  std::vector<bool> has_elements;
  for (const ExpressionNode& node : definition.nodes()) {
    const auto reads = [&](ExpressionId operand) -> bool { return has_elements[operand.v]; };
    const bool any = std::any_of(node.operands.begin(), node.operands.end(), reads);
    has_elements.push_back(any || node.kind == ExpressionKind::read);
    const bool is_modulo =
        node.kind == ExpressionKind::floor_modulo || node.kind == ExpressionKind::truncated_modulo;
    if (is_modulo && reads(node.operands[1])) return true;
    if (!is_real(node.type)) continue;
    if (node.kind == ExpressionKind::power && any) return true;
    const bool divides = node.kind == ExpressionKind::divide;
    if (!divides && !(node.kind == ExpressionKind::function && is_partial_function(node))) continue;
    const ExpressionId argument = node.operands[divides ? 1 : 0];
    if (reads(argument) && !is_surely_positive(definition, argument)) return true;
  }
  return false;
}

/// A sum of exponentials, which is not 0.
bool sums_exponentials(const Graph& graph, ValueId value) {
  const Node& sum = graph.node(graph.producer(value));
  if (sum.kind != NodeKind::operation || graph.op(sum).name != "ReduceSum") return false;
  const Node& summed = graph.node(graph.producer(sum.inputs[0]));
  return summed.kind == NodeKind::operation && graph.op(summed).name == "Exp";
}

/// The operators of the composition, or nothing with `partial` set.
struct Meaning {
  bool partial = false;
  std::vector<OperatorId> parts;
};

Meaning meaning_of(OperatorId id) {
  const auto example = example_application(id);
  if (!example) return {true, {}};
  const Node& node = example->node(example->producer(example->outputs().front().value));
  const std::vector<TensorType> types = example->input_types(node);
  const Instance instance{types, node.attributes, node.output_count};
  const OperatorRecord& op = record(id);
  if (op.define != nullptr) return {is_partial(op.define(instance)), {}};
  Graph graph;
  std::vector<ValueId> inputs;
  for (const TensorType& type : types)
    inputs.push_back(*graph.add_input("x" + std::to_string(inputs.size()), type));
  if (!op.compose(graph, instance, inputs)) return {true, {}};
  Meaning result;
  for (const Node& part : graph.nodes())
    if (part.kind == NodeKind::operation &&
        !(graph.op(part).name == "Div" && sums_exponentials(graph, part.inputs[1])))
      result.parts.push_back(operator_named(graph.op(part).name));
  return result;
}

/// By operator. Compositions are of operators that may be composed again.
std::vector<bool> find_partial_operators() {
  std::vector<Meaning> meanings;
  for (std::uint16_t i = 0; i < all_operators().size(); ++i) meanings.push_back(meaning_of({i}));
  std::vector<bool> partial;
  for (const Meaning& meaning : meanings) partial.push_back(meaning.partial);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < meanings.size(); ++i) {
      if (partial[i] || std::none_of(meanings[i].parts.begin(), meanings[i].parts.end(),
                                     [&](OperatorId part) -> bool { return partial[part.v]; }))
        continue;
      partial[i] = changed = true;
    }
  }
  return partial;
}

}  // namespace

bool may_be_undefined(OperatorId op) {
  static const std::vector<bool> partial = find_partial_operators();
  return partial[op.v];
}

bool holds_from_left_only(const Substitution& equality) {
  if (equality.bidirectional) return false;
  const std::vector<TermId> terms = detail::reachable_terms(equality, equality.left);
  return std::any_of(terms.begin(), terms.end(), [&](TermId id) {
    const RuleTerm& term = equality.terms[id.v];
    return !term.is_input && may_be_undefined(term.op);
  });
}

}  // namespace lemma
