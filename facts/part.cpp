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
    if (node.kind == NodeKind::input) {
      LEMMA_ASSIGN_OR_RETURN(values[node.output().v],
                             part.add_input(graph.input_name(node), graph.type(node.output())));
    } else if (node.kind == NodeKind::constant) {
      values[node.output().v] = part.add_constant(graph.constant(node));
    } else {
      std::vector<ValueId> operands;
      for (const ValueId operand : node.inputs)
        operands.push_back(operand.is_none() ? operand : values[operand.v]);
      std::vector<ValueId> outputs;
      if (node.kind == NodeKind::operation) {
        LEMMA_ASSIGN_OR_RETURN(outputs, add_copy(part, node, node.attributes, std::move(operands)));
      } else {
        const NodeId copied =
            part.add_opaque(graph.opaque(node), std::move(operands), graph.output_types(node));
        for (std::uint32_t k = 0; k < node.output_count; ++k)
          outputs.push_back(part.node(copied).output(k));
      }
      for (std::uint32_t k = 0; k < node.output_count; ++k) values[node.output(k).v] = outputs[k];
    }
  }
  for (const GraphOutput& output : graph.outputs())
    if (is_kept(output))
      LEMMA_RETURN_IF_ERROR(part.add_output(output.name, values[output.value.v]));
  return part;
}

}  // namespace lemma
