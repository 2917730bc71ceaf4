#include "facts/partial.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <vector>

#include "facts/operator_example.h"
#include "facts/run_time_conditions.h"
#include "ir/constant_expression.h"
#include "ir/definition.h"

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

/// The number itself, or a size that is at least 1.
bool is_positive_size(const Definition& definition, ExpressionId id) {
  const ExpressionNode& node = definition.node(id);
  switch (node.kind) {
    case ExpressionKind::cast: return is_positive_size(definition, node.operands[0]);
    case ExpressionKind::real_constant: return node.real != 0;
    case ExpressionKind::real_parameter: return true;  // 0 is a case of its own, with a number
    case ExpressionKind::integer_constant: return node.integer != 0;
    case ExpressionKind::extent: return lower_bound(node.extent).value_or(0) >= 1;
    default: return false;
  }
}

/// A minimum or maximum over a domain that may be empty.
bool may_be_over_nothing(const Definition& definition, const ExpressionNode& node) {
  const bool chooses =
      node.kind == ExpressionKind::minimum_over || node.kind == ExpressionKind::maximum_over;
  return chooses && std::any_of(node.bound.begin(), node.bound.end(), [&](VariableId variable) {
           return lower_bound(definition.extent(variable)).value_or(0) < 1;
         });
}

/// What is looked for: with `by_elements` only what is undefined whatever the sizes are.
enum class Partiality { at_all, by_elements };

/// Operands come before their users, so that one pass sees what depends on elements.
bool is_partial(const Definition& definition, Partiality wanted) {
  const bool by_sizes = wanted == Partiality::at_all;
  std::vector<bool> has_elements;
  for (const ExpressionNode& node : definition.nodes()) {
    const auto reads = [&](ExpressionId operand) -> bool { return has_elements[operand.v]; };
    const bool any = std::any_of(node.operands.begin(), node.operands.end(), reads);
    has_elements.push_back(any || node.kind == ExpressionKind::read);
    const bool is_modulo =
        node.kind == ExpressionKind::floor_modulo || node.kind == ExpressionKind::truncated_modulo;
    if (is_modulo && reads(node.operands[1])) return true;
    if (by_sizes && any && may_be_over_nothing(definition, node)) return true;
    if (!is_real(node.type)) continue;
    if (node.kind == ExpressionKind::power && any) return true;
    const bool divides = node.kind == ExpressionKind::divide;
    if (!divides && !(node.kind == ExpressionKind::function && is_partial_function(node))) continue;
    const ExpressionId argument = node.operands[divides ? 1 : 0];
    if (const auto number = constant_value(
            definition, ExpressionId{static_cast<std::uint32_t>(has_elements.size() - 1)});
        number && std::isfinite(*number))
      continue;
    if (by_sizes && divides && !reads(argument) && !is_positive_size(definition, argument))
      return true;
    if (reads(argument) && !is_surely_positive(definition, argument)) return true;
  }
  return false;
}

// ---- Totality of one application ---------------------------------------------------------------

/// Reads elements at index variables that range over just the axis, or at the 0 of an axis of size 1.
bool reads_within(const Definition& definition, const ExpressionNode& node, const Shape& shape) {
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const ExpressionNode& index = definition.node(node.operands[axis]);
    const bool is_whole =
        index.kind == ExpressionKind::index && definition.extent(index.variable) == shape[axis];
    const bool is_single =
        index.kind == ExpressionKind::integer_constant && index.integer == 0 && shape[axis].is(1);
    if (!is_whole && !is_single) return false;
  }
  return true;
}

bool is_total_function(const Definition& definition, const ExpressionNode& node) {
  if (!is_partial_function(node)) return !is_classification(node);
  return (node.function == ScalarFunction::log || node.function == ScalarFunction::reciprocal) &&
         is_surely_positive(definition, node.operands[0]);
}

/// Whether shape inference sees that all positions which do not depend on elements are inside: where
/// the sizes of the results are computed from just these positions. Positions that are clamped, mirrored
/// or wrapped around are not.
bool reads_by_shape(const OperatorRecord& op, const Definition& definition) {
  const auto bends = [](const ExpressionNode& node) {
    return node.kind == ExpressionKind::minimum || node.kind == ExpressionKind::maximum ||
           node.kind == ExpressionKind::floor_modulo;
  };
  return op.has(view) || (op.has(reads_inside) && std::none_of(definition.nodes().begin(),
                                                               definition.nodes().end(), bends));
}

/// Whether a step of the definition has a value wherever its operands do.
bool is_total_node(const Definition& definition, ExpressionId id, const Instance& instance,
                   bool by_shape) {
  const ExpressionNode& node = definition.node(id);
  if (const auto number = constant_value(definition, id)) return std::isfinite(*number);
  switch (node.kind) {
    case ExpressionKind::read:
      return by_shape || reads_within(definition, node, instance.shape(node.input));
    case ExpressionKind::divide:
      return is_real(node.type) && (is_surely_positive(definition, node.operands[1]) ||
                                    is_positive_size(definition, node.operands[1]));
    case ExpressionKind::floor_divide:
    case ExpressionKind::floor_modulo: return by_shape;
    case ExpressionKind::truncated_modulo:
    case ExpressionKind::power: return false;
    case ExpressionKind::cast: {
      const ExpressionKind operand = definition.node(node.operands[0]).kind;
      return operand == ExpressionKind::extent || operand == ExpressionKind::integer_constant;
    }
    case ExpressionKind::minimum_over:
    case ExpressionKind::maximum_over: return !may_be_over_nothing(definition, node);
    case ExpressionKind::function: return is_total_function(definition, node);
    default: return true;
  }
}

bool takes_step(const Graph& graph, const Node& node, ExpressionKind kind,
                ScalarFunction function = {}) {
  if (node.kind != NodeKind::operation || graph.op(node).define == nullptr) return false;
  const std::vector<TensorType> types = graph.input_types(node);
  const Definition definition = graph.op(node).define({types, node.attributes, node.output_count});
  const ExpressionNode* step = single_step(definition);
  return step != nullptr && step->kind == kind &&
         (kind != ExpressionKind::function || step->function == function);
}

/// A sum of exponentials, which is not 0.
bool sums_exponentials(const Graph& graph, ValueId value) {
  const Node& sum = graph.node(graph.producer(value));
  if (!takes_step(graph, sum, ExpressionKind::sum)) return false;
  const Node& summed = graph.node(graph.producer(sum.inputs[0]));
  return takes_step(graph, summed, ExpressionKind::function, ScalarFunction::exp);
}

/// Sums of what is computed from elements.
Adding adding_in(const Definition& definition) {
  std::vector<bool> has_elements;
  Adding result = Adding::none;
  for (const ExpressionNode& node : definition.nodes()) {
    const auto reads = [&](ExpressionId operand) -> bool { return has_elements[operand.v]; };
    const bool any = std::any_of(node.operands.begin(), node.operands.end(), reads);
    has_elements.push_back(any || node.kind == ExpressionKind::read);
    if (!any || !is_real(node.type)) continue;
    const bool both = std::all_of(node.operands.begin(), node.operands.end(), reads);
    if (node.kind == ExpressionKind::sum) result = Adding::axes;
    if (both && (node.kind == ExpressionKind::add || node.kind == ExpressionKind::subtract))
      result = std::max(result, Adding::pairs);
  }
  return result;
}

/// The operators of the composition, or nothing with `partial` set.
struct Meaning {
  bool partial = false, partial_by_elements = false;
  Adding adding = Adding::none;
  std::vector<OperatorId> parts;

  void include(const Meaning& part) {
    partial = partial || part.partial;
    partial_by_elements = partial_by_elements || part.partial_by_elements;
    adding = std::max(adding, part.adding);
  }
};

Meaning meaning_of(OperatorId id) {
  const Meaning safe = {true, true, Adding::axes, {}};
  const auto example = example_application(id);
  if (!example) return safe;
  const Node& node = example->node(example->producer(example->outputs().front().value));
  const std::vector<TensorType> types = example->input_types(node);
  const Instance instance{types, node.attributes, node.output_count};
  const OperatorRecord& op = record(id);
  if (op.define != nullptr) {
    const Definition definition = op.define(instance);
    return {is_partial(definition, Partiality::at_all),
            is_partial(definition, Partiality::by_elements),
            adding_in(definition),
            {}};
  }
  Graph graph;
  std::vector<ValueId> inputs;
  for (const TensorType& type : types)
    inputs.push_back(*graph.add_input("x" + std::to_string(inputs.size()), type));
  if (!op.compose(graph, instance, inputs)) return safe;
  Meaning result;
  for (const Node& part : graph.nodes())
    if (part.kind == NodeKind::operation && !(takes_step(graph, part, ExpressionKind::divide) &&
                                              sums_exponentials(graph, part.inputs[1])))
      result.parts.push_back(operator_named(graph.op(part).name));
  return result;
}

/// Meanings of operators, each found when it is first asked for, from any thread: a rule database has applications of
/// some operators only, and finding an example of each takes as long as reading the database.
class Meanings {
 public:
  /// With what the parts mean. Compositions are of operators that may be composed again.
  const Meaning& whole(OperatorId op) {
    Entry& entry = entry_of(op);
    std::call_once(entry.whole_found, [&] {
      std::vector<OperatorId> reached = {op};
      entry.whole = own(op);
      for (std::size_t i = 0; i < reached.size(); ++i)
        for (const OperatorId part : own(reached[i]).parts) {
          if (std::find(reached.begin(), reached.end(), part) != reached.end()) continue;
          reached.push_back(part);
          entry.whole.include(own(part));
        }
    });
    return entry.whole;
  }

 private:
  struct Entry {
    std::once_flag own_found, whole_found;
    Meaning own, whole;
  };

  const Meaning& own(OperatorId op) {
    Entry& entry = entry_of(op);
    std::call_once(entry.own_found, [&] { entry.own = meaning_of(op); });
    return entry.own;
  }

  Entry& entry_of(OperatorId op) {
    if (op.v < entries_.size()) return entries_[op.v];
    const std::lock_guard lock(mutex_);
    return made_[op];
  }

  std::vector<Entry> entries_ = std::vector<Entry>(all_operators().size());
  std::mutex mutex_;
  std::map<OperatorId, Entry> made_;  // of operators that are made on demand
};

const Meaning& known_meaning(OperatorId op) {
  static Meanings meanings;
  return meanings.whole(op);
}

}  // namespace

bool is_classification(const ExpressionNode& node) {
  return is_function(node, ScalarFunction::is_nan) ||
         is_function(node, ScalarFunction::is_infinite);
}

bool may_be_undefined(OperatorId op) { return known_meaning(op).partial; }
bool may_be_undefined_by_elements(OperatorId op) { return known_meaning(op).partial_by_elements; }
Adding adding_of(OperatorId op) { return known_meaning(op).adding; }

bool is_total(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::operation) return false;
  const OperatorRecord& op = graph.op(node);
  if (op.define == nullptr) return false;
  if (!run_time_conditions(graph, node).zero.empty()) return false;
  const std::vector<TensorType> types = graph.input_types(node);
  const Instance instance{types, node.attributes, node.output_count};
  const Definition definition = op.define(instance);
  const bool by_shape = reads_by_shape(op, definition);
  for (std::uint32_t id = 0; id < definition.nodes().size(); ++id)
    if (!is_total_node(definition, {id}, instance, by_shape)) return false;
  return true;
}

void AlwaysDefined::set(ValueId value, bool answer) {
  if (answers_.size() <= value.v) answers_.resize(value.v + 1, Answer::open);
  answers_[value.v] = answer ? Answer::yes : Answer::no;
}

bool AlwaysDefined::holds(ValueId value) {
  if (value.v < answers_.size() && answers_[value.v] != Answer::open)
    return answers_[value.v] == Answer::yes;
  const Node& node = graph_.node(graph_.producer(value));
  const bool answer =
      std::all_of(node.inputs.begin(), node.inputs.end(),
                  [this](ValueId operand) { return operand.is_none() || holds(operand); }) &&
      is_total(graph_, node);
  set(value, answer);
  return answer;
}

}  // namespace lemma
