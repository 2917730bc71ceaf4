#include "verifier/index/recurrences.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "ir/expand.h"
#include "ir/rebuild.h"

namespace lemma::verifier::index {
namespace {

/// The recurrences in the order in which they are computed.
std::vector<NodeId> recurrences_of(const Graph& graph) {
  std::vector<NodeId> result;
  for (const NodeId id : graph.live_nodes())
    if (graph.node(id).kind == NodeKind::operation && graph.op(graph.node(id)).has(recurrent))
      result.push_back(id);
  return result;
}

/// A copy in which values, if any, are given by new inputs, which come after the others.
class Copy {
 public:
  explicit Copy(const Graph& source)
      : source_(source), value_of_(source.value_count(), ValueId::none()) {}

  Result<void> add_inputs() {
    for (const NodeId id : source_.inputs()) {
      const ValueId value = source_.node(id).output();
      LEMMA_RETURN_IF_ERROR(add_input(source_.input_name(source_.node(id)), value));
    }
    return {};
  }

  Result<void> add_input(std::string name, ValueId value) {
    LEMMA_ASSIGN_OR_RETURN(value_of_[value.v],
                           target_.add_input(std::move(name), source_.type(value)));
    return {};
  }

  Result<Graph> finish(const std::vector<GraphOutput>& outputs) {
    LEMMA_RETURN_IF_ERROR(add_values(outputs));
    for (const GraphOutput& output : outputs)
      LEMMA_RETURN_IF_ERROR(target_.add_output(output.name, value_of_[output.value.v]));
    return std::move(target_);
  }

  Result<void> add_values(const std::vector<GraphOutput>& outputs) {
    std::vector<char> needed(source_.node_count(), 0);
    for (const GraphOutput& output : outputs) needed[source_.producer(output.value).v] = 1;
    for (std::size_t i = needed.size(); i-- > 0;) {
      const auto id = static_cast<std::uint32_t>(i);
      if (needed[i] == 0 || is_there(source_.node({id}))) continue;
      for (const ValueId input : source_.node({id}).inputs)
        if (!input.is_none()) needed[source_.producer(input).v] = 1;
    }
    for (std::uint32_t id = 0; id < needed.size(); ++id)
      if (needed[id] != 0 && !is_there(source_.node({id})))
        LEMMA_RETURN_IF_ERROR(add_node(source_.node({id})));
    return {};
  }

  ValueId at(ValueId value) const { return value_of_[value.v]; }
  Graph& target() { return target_; }

 private:
  bool is_there(const Node& node) const { return !value_of_[node.output().v].is_none(); }

  Result<void> add_node(const Node& node) {
    if (node.kind == NodeKind::opaque) return internal_error("a rule has an opaque operator");
    return copy_node(source_, node, target_, value_of_, ValueNames::dropped);
  }

  const Graph& source_;
  Graph target_;
  std::vector<ValueId> value_of_;
};

/// What the node is applied to, as outputs.
Result<Graph> operands_of(const Graph& graph, NodeId id) {
  Copy copy(graph);
  LEMMA_RETURN_IF_ERROR(copy.add_inputs());
  std::vector<GraphOutput> outputs;
  for (const ValueId input : graph.node(id).inputs)
    outputs.push_back({fmt::format("operand{}", outputs.size()), input});
  return copy.finish(outputs);
}

/// What an induction over the steps compares: the sequence, the state before the first step, and the state after a
/// step, for any row of the sequence and any state before it. Nothing if operands are absent.
Result<std::optional<Graph>> step_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  constexpr std::size_t first_state = 4;  // after the sequence, two weights and a bias
  const bool is_whole = node.inputs.size() > first_state &&
                        std::none_of(node.inputs.begin(), node.inputs.end(),
                                     [](ValueId input) { return input.is_none(); });
  if (!is_whole) return std::nullopt;
  Copy copy(graph);
  LEMMA_RETURN_IF_ERROR(copy.add_inputs());
  std::vector<GraphOutput> operands;
  for (const ValueId input : node.inputs) operands.push_back({"", input});
  LEMMA_RETURN_IF_ERROR(copy.add_values(operands));
  Graph result = copy.target();
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId operand = copy.at(node.inputs[i]);
    TensorType type = result.type(operand);
    const bool is_given = i != 0 && i < first_state;
    inputs.push_back(operand);
    if (is_given) continue;
    LEMMA_RETURN_IF_ERROR(result.add_output(fmt::format("operand{}", i), operand));
    if (i == 0) type.shape->front() = Dimension(1);
    LEMMA_ASSIGN_OR_RETURN(inputs.back(), result.add_input(fmt::format("_step{}", i), type));
  }
  const auto states = static_cast<std::uint32_t>(node.inputs.size() - first_state);
  LEMMA_ASSIGN_OR_RETURN(const NodeId step, result.add_operation(node.op, std::move(inputs),
                                                                 node.attributes, states + 1));
  for (std::uint32_t k = 0; k < states; ++k)
    LEMMA_RETURN_IF_ERROR(
        result.add_output(fmt::format("state{}", k), result.node(step).output(k + 1)));
  LEMMA_ASSIGN_OR_RETURN(result, expand_but_recurrences(result, true));
  return result;
}

/// The objection to an induction over the steps: the sequences and the states before the first step refine each
/// other, and so does the state after each step where those before it are the same.
Result<std::optional<std::string>> objection_to_induction(const Sides& sides, NodeId left,
                                                          NodeId right, const Refines& refines) {
  LEMMA_ASSIGN_OR_RETURN(const auto given, step_of(sides.left, left));
  LEMMA_ASSIGN_OR_RETURN(const auto wanted, step_of(sides.right, right));
  if (!given || !wanted) return std::string("a recurrence has no initial state");
  return refines(*given, *wanted);
}

/// The graph with inputs for what the node gives.
Result<Graph> replaced(const Graph& graph, NodeId id, std::size_t number) {
  Copy copy(graph);
  LEMMA_RETURN_IF_ERROR(copy.add_inputs());
  const Node& node = graph.node(id);
  for (std::uint32_t k = 0; k < node.output_count; ++k)
    LEMMA_RETURN_IF_ERROR(
        copy.add_input(fmt::format("_recurrence{}_{}", number, k), node.output(k)));
  return copy.finish(graph.outputs());
}

bool are_alike(const Graph& a, const Node& node, const Graph& b, const Node& other) {
  return node.op == other.op && node.attributes == other.attributes &&
         node.output_count == other.output_count && a.output_types(node) == b.output_types(other);
}

}  // namespace

std::size_t single_steps(const Graph& graph) {
  const std::vector<NodeId> recurrences = recurrences_of(graph);
  const auto count = std::count_if(recurrences.begin(), recurrences.end(), [&graph](NodeId id) {
    return graph.type(graph.node(id).inputs[0]).shape->front().is_constant();
  });
  return static_cast<std::size_t>(count);
}

std::size_t recurrence_count(const Graph& graph) { return recurrences_of(graph).size(); }

Result<Sides> without_recurrences(Sides sides, const Refines& refines) {
  for (std::size_t number = 0;; ++number) {
    const std::vector<NodeId> left = recurrences_of(sides.left),
                              right = recurrences_of(sides.right);
    if (left.empty() && right.empty()) return sides;
    if (right.empty()) {  // whatever it gives
      LEMMA_ASSIGN_OR_RETURN(sides.left, replaced(sides.left, left.front(), number));
      continue;
    }
    // Nothing recurrent is below the first one.
    LEMMA_ASSIGN_OR_RETURN(const Graph wanted, operands_of(sides.right, right.front()));
    std::string reason = "no recurrence of the left side is alike";
    bool is_settled = false;
    for (const NodeId id : left) {
      LEMMA_ASSIGN_OR_RETURN(const Graph given, operands_of(sides.left, id));
      const Node &node = sides.left.node(id), &other = sides.right.node(right.front());
      if (!recurrences_of(given).empty() || !are_alike(sides.left, node, sides.right, other))
        continue;
      auto objection = refines(given, wanted);
      if (objection) {
        reason = *objection;
        LEMMA_ASSIGN_OR_RETURN(objection,
                               objection_to_induction(sides, id, right.front(), refines));
      }
      if (objection) continue;
      LEMMA_ASSIGN_OR_RETURN(sides.left, replaced(sides.left, id, number));
      LEMMA_ASSIGN_OR_RETURN(sides.right, replaced(sides.right, right.front(), number));
      is_settled = true;
      break;
    }
    if (!is_settled) return bad_input(fmt::format("operands of a recurrence: {}", reason));
  }
}

}  // namespace lemma::verifier::index
