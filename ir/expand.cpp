#include "ir/expand.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/rebuild.h"

namespace lemma {

namespace {

bool is_composite(const Graph& graph, const Node& node) {
  return node.kind == NodeKind::operation && graph.op(node).compose != nullptr;
}

/// What is composed: everything, not recurrences over numbers of steps that are open, or only those recurrences that
/// are composed of recurrences.
enum class Recurrences { all, that_unfold, into_others };

bool stays(const OperatorRecord& op, std::span<const TensorType> types, Recurrences taken) {
  static const Attributes none;
  if (taken == Recurrences::all || !op.has(recurrent)) return false;
  return !unfolds({types, none}) ||
         (taken == Recurrences::into_others && types[0].shape->front().is_constant());
}

/// Whether there are composites. Those that no output depends on count too: a composition may make more than is
/// used, which the next round drops.
bool has_composites(const Graph& graph, Recurrences taken) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) {
    return is_composite(graph, node) && !stays(graph.op(node), graph.input_types(node), taken);
  });
}

Result<std::vector<ValueId>> expand(Graph& target, const Node& node, std::vector<ValueId> inputs,
                                    Recurrences taken) {
  const OperatorRecord& op = record(node.op);
  std::vector<TensorType> types;
  for (const ValueId input : inputs)
    types.push_back(input.is_none() ? TensorType{} : target.type(input));
  if (op.compose != nullptr && !stays(op, types, taken)) {
    auto outputs = op.compose(target, {types, node.attributes, node.output_count}, inputs);
    if (!outputs) return with_context(op.name, std::move(outputs.error()));
    return outputs;
  }
  return add_copy(target, node, node.attributes, std::move(inputs));
}

Result<Graph> expanded(const Graph& graph, Recurrences taken) {
  // Compositions are built from simpler operators; the limit only stops a cycle among records.
  constexpr int limit = 32;
  Graph current = graph;
  for (int round = 0; round < limit; ++round) {
    if (!has_composites(current, taken)) return current;
    LEMMA_ASSIGN_OR_RETURN(
        current, rebuild(
                     current, [](const Graph& source, ValueId v) { return source.type(v); },
                     [taken](Graph& target, const Node& node, std::vector<ValueId> inputs) {
                       return expand(target, node, std::move(inputs), taken);
                     }));
  }
  return internal_error("operators are composed of one another without end");
}

}  // namespace

Result<Graph> expand_composites(const Graph& graph) { return expanded(graph, Recurrences::all); }

Result<Graph> expand_but_recurrences(const Graph& graph, bool with_steps) {
  return expanded(graph, with_steps ? Recurrences::that_unfold : Recurrences::into_others);
}

}  // namespace lemma
