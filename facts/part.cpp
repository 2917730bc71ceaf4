#include "facts/part.h"

#include <algorithm>

#include "ir/rebuild.h"

namespace lemma {

std::vector<bool> depends_on_inputs(const Graph& graph,
                                    const std::function<bool(const Node& input)>& is_meant) {
  std::vector<bool> depends(graph.value_count(), false);
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    const bool does =
        node.kind == NodeKind::input
            ? is_meant(node)
            : std::any_of(node.inputs.begin(), node.inputs.end(), [&depends](ValueId operand) {
                return !operand.is_none() && depends[operand.v];
              });
    for (std::uint32_t k = 0; does && k < node.output_count; ++k) depends[node.output(k).v] = true;
  }
  return depends;
}

Result<Graph> with_outputs(const Graph& graph,
                           const std::function<bool(const GraphOutput&)>& is_kept,
                           const std::function<bool(const Node& input)>& keeps_input) {
  std::vector<bool> needed(graph.value_count(), false);
  for (const GraphOutput& output : graph.outputs())
    if (is_kept(output)) needed[output.value.v] = true;
  const std::vector<NodeId> live = graph.live_nodes();
  const auto is_needed = [&](const Node& node) {
    if (node.kind == NodeKind::input && keeps_input && keeps_input(node)) return true;
    for (std::uint32_t k = 0; k < node.output_count; ++k)
      if (needed[node.output(k).v]) return true;
    return false;
  };
  for (auto id = live.rbegin(); id != live.rend(); ++id)
    if (const Node& node = graph.node(*id); is_needed(node))
      for (const ValueId operand : node.inputs)
        if (!operand.is_none()) needed[operand.v] = true;
  Graph part;
  part.set_name(graph.name());
  std::vector<ValueId> values(graph.value_count(), ValueId::none());
  for (const NodeId id : live) {
    const Node& node = graph.node(id);
    if (!is_needed(node)) continue;
    LEMMA_RETURN_IF_ERROR(copy_node(graph, node, part, values));
  }
  for (const GraphOutput& output : graph.outputs())
    if (is_kept(output))
      LEMMA_RETURN_IF_ERROR(part.add_output(output.name, values[output.value.v]));
  return part;
}

Result<Graph> with_first_outputs(const Graph& graph, std::size_t output_count) {
  const GraphOutput* const end = graph.outputs().data() + output_count;
  return with_outputs(
      graph, [end](const GraphOutput& output) { return &output < end; },
      [](const Node& /*input*/) { return true; });
}

Result<Graph> without_dead_nodes(const Graph& graph) {
  return with_first_outputs(graph, graph.outputs().size());
}

}  // namespace lemma
