#include "facts/observation.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

namespace lemma {
namespace {

using Kind = ExpressionKind;

/// A boolean expression, given that one element is NaN.
enum class Truth : std::uint8_t { unknown, no, yes };

Truth opposite(Truth truth) {
  if (truth == Truth::unknown) return truth;
  return truth == Truth::yes ? Truth::no : Truth::yes;
}

/// What becomes of NaN at one read, as a pass over the definition: operands come before their users.
class NanAtRead {
 public:
  NanAtRead(const Definition& definition, ExpressionId read)
      : definition_(definition), states_(definition.nodes().size()) {
    for (std::uint32_t i = read.v; i < states_.size(); ++i)
      states_[i] = i == read.v ? State{true, true, Truth::unknown} : state_of(definition.node({i}));
  }

  /// Whether it is read for an element of the output that need not be NaN.
  bool is_lost(const DefinedOutput& output) const {
    return at(output.value).contains && !at(output.value).keeps;
  }

 private:
  struct State {
    bool contains = false;  // the read occurs in it
    bool keeps = false;  // wherever it is read, the result is NaN or, of an integer type, undefined
    Truth truth = Truth::unknown;
  };

  const State& at(ExpressionId id) const { return states_[id.v]; }

  State state_of(const ExpressionNode& node) const {
    State state;
    state.contains = std::any_of(node.operands.begin(), node.operands.end(),
                                 [this](ExpressionId id) { return at(id).contains; });
    if (!state.contains) return state;
    switch (node.kind) {
      case Kind::equal:
      case Kind::less:
      case Kind::less_equal:
        if (is_real(definition_.node(node.operands[0]).type) && operands_keep(node))
          state.truth = Truth::no;
        break;
      case Kind::logical_not: state.truth = opposite(at(node.operands[0]).truth); break;
      case Kind::logical_and: state.truth = decided_by(Truth::no, node); break;
      case Kind::logical_or: state.truth = decided_by(Truth::yes, node); break;
      case Kind::select: return selected(node);
      case Kind::function:
        if (node.function == ScalarFunction::is_nan && operands_keep(node))
          state.truth = Truth::yes;
        else if (node.function == ScalarFunction::is_infinite && operands_keep(node))
          state.truth = Truth::no;
        else
          state.keeps = operands_keep(node);
        break;
      case Kind::cast:
        if (node.type == DataType::boolean)
          state.truth = operands_keep(node) ? Truth::yes : Truth::unknown;
        else
          state.keeps = operands_keep(node);
        break;
      default: state.keeps = operands_keep(node);
    }
    return state;
  }

  /// All operands in which it occurs. A power keeps it: where pow(NaN, 0) is 1, that of any number is.
  bool operands_keep(const ExpressionNode& node) const {
    return std::all_of(node.operands.begin(), node.operands.end(),
                       [this](ExpressionId id) { return !at(id).contains || at(id).keeps; });
  }

  /// False decides a conjunction, true a disjunction.
  Truth decided_by(Truth decisive, const ExpressionNode& node) const {
    const Truth a = at(node.operands[0]).truth, b = at(node.operands[1]).truth;
    if (a == decisive || b == decisive) return decisive;
    return a == b ? a : Truth::unknown;
  }

  /// A branch that is not taken is not read.
  State selected(const ExpressionNode& node) const {
    const State &condition = at(node.operands[0]), &then = at(node.operands[1]),
                &otherwise = at(node.operands[2]);
    State state{true, false, Truth::unknown};
    if (!condition.contains) {
      state.keeps = (!then.contains || then.keeps) && (!otherwise.contains || otherwise.keeps);
      return state;
    }
    state.keeps = (condition.truth == Truth::no || then.keeps) &&
                  (condition.truth == Truth::yes || otherwise.keeps);
    return state;
  }

  const Definition& definition_;
  std::vector<State> states_;  // by expression
};

}  // namespace

bool observes_undefined(const Definition& definition) {
  for (std::uint32_t i = 0; i < definition.nodes().size(); ++i) {
    const ExpressionNode& node = definition.node({i});
    if (node.kind != Kind::read || !is_real(node.type)) continue;
    const NanAtRead nan(definition, {i});
    if (std::any_of(definition.outputs().begin(), definition.outputs().end(),
                    [&nan](const DefinedOutput& output) { return nan.is_lost(output); }))
      return true;
  }
  return false;
}

bool observes_undefined(const OperatorRecord& record, const Instance& instance) {
  if (record.define != nullptr) return observes_undefined(record.define(instance));
  std::vector<TensorType> types(instance.inputs.begin(), instance.inputs.end());
  // Of any number of steps all are alike.
  if (record.has(recurrent) && types[0].rank() > 0) (*types[0].shape)[0] = 1;
  Graph graph;
  std::vector<ValueId> inputs;
  for (const TensorType& type : types) {
    const auto input = type.is_known()
                           ? graph.add_input(fmt::format("input {}", inputs.size()), type)
                           : Result<ValueId>(ValueId::none());
    inputs.push_back(input ? *input : ValueId::none());
  }
  if (!record.compose(graph, {types, instance.attributes, instance.output_count}, inputs))
    return true;
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) {
    // A recurrence is composed of itself over fewer steps.
    if (node.kind != NodeKind::operation || &graph.op(node) == &record) return false;
    const std::vector<TensorType> operands = graph.input_types(node);
    return observes_undefined(graph.op(node), {operands, node.attributes, node.output_count});
  });
}

std::optional<ObservedOperand> observed_operand(const Graph& graph, AlwaysDefined& defined,
                                                std::size_t node_count) {
  for (std::uint32_t i = 0; i < node_count; ++i) {
    const Node& node = graph.node({i});
    if (node.kind != NodeKind::operation) continue;
    const std::vector<TensorType> types = graph.input_types(node);
    const auto open = std::find_if(node.inputs.begin(), node.inputs.end(), [&](ValueId operand) {
      return !operand.is_none() && is_real(graph.type(operand).data_type) &&
             !defined.holds(operand);
    });
    if (open == node.inputs.end()) continue;
    if (observes_undefined(graph.op(node), {types, node.attributes, node.output_count}))
      return ObservedOperand{{i}, *open};
  }
  return std::nullopt;
}

std::string objection_to(const Graph& graph, const ObservedOperand& observed) {
  const Node& node = graph.node(observed.node);
  std::size_t position = 0;
  while (node.inputs[position] != observed.operand) ++position;
  return fmt::format(
      "{} tells NaN from numbers, and its operand {} may be undefined: inputs that are declared "
      "'defined' are not, and a rule of the class bitwise need not say so",
      graph.op(node).name, position);
}

}  // namespace lemma
