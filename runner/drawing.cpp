#include "runner/drawing.h"

#include <algorithm>

#include <fmt/format.h>

namespace lemma::runner {

std::vector<bool> drawn_outputs(const Drawing& drawing) {
  const Graph& graph = drawing.graph;
  std::vector<bool> is_drawn(graph.value_count(), false);
  const auto has_drawn = [&](NodeId id) {
    return std::any_of(drawing.nodes.begin(), drawing.nodes.end(),
                       [&](const DrawnNode& drawn) { return drawn.node == id; });
  };
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    const bool depends = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return !input.is_none() && is_drawn[input.v];
    });
    if (!depends && !has_drawn(id)) continue;
    for (std::uint32_t k = 0; k < node.output_count; ++k) is_drawn[node.output(k).v] = true;
  }
  std::vector<bool> result;
  for (const GraphOutput& output : graph.outputs()) result.push_back(is_drawn[output.value.v]);
  return result;
}

Result<void> could_be_drawn(const Drawing& drawing, std::span<const RunTimeValue> outputs) {
  const Graph& graph = drawing.graph;
  for (const DrawnNode& drawn : drawing.nodes) {
    if (drawn.procedure == nullptr) continue;
    const Node& node = graph.node(drawn.node);
    std::vector<RunTimeValue> results(node.output_count);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      for (std::uint32_t k = 0; k < node.output_count; ++k)
        if (graph.outputs()[i].value == node.output(k)) results[k] = outputs[i];
    auto admitted = drawn.procedure->admits(
        {drawn.operands, drawn.attributes, drawn.operator_set, results.size()}, results);
    if (!admitted)
      return with_context(fmt::format("no draw of {} gives this", drawn.procedure->name),
                          std::move(admitted.error()));
  }
  return {};
}

}  // namespace lemma::runner
