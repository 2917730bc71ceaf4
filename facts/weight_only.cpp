#include "facts/weight_only.h"

#include <algorithm>

namespace lemma {

std::vector<bool> weight_only_nodes(const Graph& graph, bool with_stored_forms) {
  std::vector<bool> weight_only(graph.node_count(), false);
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node({i});
    if (node.kind == NodeKind::constant) weight_only[i] = true;
    if (node.kind != NodeKind::operation || (!with_stored_forms && graph.op(node).has(not_folded)))
      continue;
    weight_only[i] = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return input.is_none() || weight_only[graph.producer(input).v];
    });
  }
  return weight_only;
}

std::string folded_operator(const Graph& graph, const Node& node) {
  const bool has_operand = !node.inputs.empty() && !node.inputs.front().is_none();
  const ValueId typed = has_operand ? node.inputs.front() : node.output();
  return std::string(graph.op(node).name) + " " + std::string(name(graph.type(typed).data_type));
}

}  // namespace lemma
