#include "ir/expand.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "ir/kernel_override.h"
#include "ir/rebuild.h"

namespace lemma {

namespace {

bool is_composite(const Graph& graph, const Node& node) {
  return node.kind == NodeKind::operation && graph.op(node).compose != nullptr;
}

/// Which recurrences are composed: not those over numbers of steps that are open, or only those that are composed of
/// recurrences.
enum class Recurrences { that_unfold, into_others };

/// Whether an application is left as it is.
using Stays = std::function<bool(const OperatorRecord& op, const Instance& instance)>;

bool stays_open(const OperatorRecord& op, std::span<const TensorType> types, Recurrences taken) {
  static const Attributes none;
  if (!op.has(recurrent)) return false;
  return !unfolds({types, none}) ||
         (taken == Recurrences::into_others && types[0].shape->front().is_constant());
}

/// Whether there are composites. Those that no output depends on count too: a composition may make more than is
/// used, which the next round drops.
bool has_composites(const Graph& graph, const Stays& stays) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) {
    if (!is_composite(graph, node)) return false;
    const std::vector<TensorType> types = graph.input_types(node);
    return !stays(graph.op(node), {types, node.attributes, node.output_count});
  });
}

Result<std::vector<ValueId>> expand(Graph& target, const Node& node, std::vector<ValueId> inputs,
                                    const Stays& stays) {
  const OperatorRecord& op = record(node.op);
  std::vector<TensorType> types;
  for (const ValueId input : inputs)
    types.push_back(input.is_none() ? TensorType{} : target.type(input));
  const Instance instance{types, node.attributes, node.output_count};
  if (op.compose != nullptr && !stays(op, instance)) {
    auto outputs = op.compose(target, instance, inputs);
    if (!outputs) return with_context(op.name, std::move(outputs.error()));
    return outputs;
  }
  return add_copy(target, node, node.attributes, std::move(inputs));
}

Result<Graph> expanded(const Graph& graph, const Stays& stays) {
  // Compositions are built from simpler operators; the limit only stops a cycle among records.
  constexpr int limit = 32;
  Graph current = graph;
  for (int round = 0; round < limit; ++round) {
    if (!has_composites(current, stays)) return current;
    LEMMA_ASSIGN_OR_RETURN(
        current, rebuild(
                     current, [](const Graph& source, ValueId v) { return source.type(v); },
                     [&stays](Graph& target, const Node& node, std::vector<ValueId> inputs) {
                       return expand(target, node, std::move(inputs), stays);
                     }));
  }
  return internal_error("operators are composed of one another without end");
}

}  // namespace

Result<Graph> expand_composites(const Graph& graph) {
  return expanded(graph, [](const OperatorRecord&, const Instance&) { return false; });
}

Result<Graph> expand_but_kernels(const Graph& graph, std::string_view target) {
  return expanded(graph, [target](const OperatorRecord& op, const Instance& instance) {
    return find_override(op, target, instance).has_value();
  });
}

Result<Graph> expand_but_recurrences(const Graph& graph, bool with_steps) {
  const Recurrences taken = with_steps ? Recurrences::that_unfold : Recurrences::into_others;
  return expanded(graph, [taken](const OperatorRecord& op, const Instance& instance) {
    return stays_open(op, instance.inputs, taken);
  });
}

}  // namespace lemma
