#include "ir/expand.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/rebuild.h"

namespace lemma {

namespace {

bool is_composite(const Graph& graph, const Node& node) {
  return node.kind == NodeKind::operation && graph.op(node).compose != nullptr;
}

/// Those that no output depends on count too: a composition may make more than is used, which the next round drops.
bool has_composites(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [&graph](const Node& node) { return is_composite(graph, node); });
}

Result<std::vector<ValueId>> expand(Graph& target, const Node& node, std::vector<ValueId> inputs) {
  const OperatorRecord& op = record(node.op);
  if (op.compose != nullptr) {
    std::vector<TensorType> types;
    for (const ValueId input : inputs)
      types.push_back(input.is_none() ? TensorType{} : target.type(input));
    auto outputs = op.compose(target, {types, node.attributes, node.output_count}, inputs);
    if (!outputs) return with_context(op.name, std::move(outputs.error()));
    return outputs;
  }
  LEMMA_ASSIGN_OR_RETURN(const NodeId id, target.add_operation(node.op, std::move(inputs),
                                                               node.attributes, node.output_count));
  std::vector<ValueId> outputs;
  for (std::uint32_t i = 0; i < node.output_count; ++i)
    outputs.push_back(target.node(id).output(i));
  return outputs;
}

}  // namespace

Result<Graph> expand_composites(const Graph& graph) {
  // Compositions are built from simpler operators; the limit only stops a cycle among records.
  constexpr int limit = 32;
  Graph current = graph;
  for (int round = 0; round < limit; ++round) {
    if (!has_composites(current)) return current;
    LEMMA_ASSIGN_OR_RETURN(
        current,
        rebuild(
            current, [](const Graph& source, ValueId v) { return source.type(v); }, expand));
  }
  return internal_error("operators are composed of one another without end");
}

}  // namespace lemma
