#include "search/folded_bytes.h"

#include <map>

#include "ir/dimension.h"

namespace lemma {
namespace {

// Of a file, beside elements: names, types, sizes and lengths of fields. Rather too little for an operation.
constexpr double bytes_of_operation = 60;
constexpr double bytes_of_constant = 40;

}  // namespace

double byte_count(const TensorType& type) {
  if (!type.shape) return 0;
  const Dimension count = element_count(*type.shape);
  return count.is_constant() ? static_cast<double>(count.offset()) * bits(type.data_type) / 8 : -1;
}

FoldedBytes::FoldedBytes(const Graph& graph)
    : graph_(graph), uses_(graph.value_count(), 0), folded_(graph.value_count(), false) {
  for (const NodeId id : graph.live_nodes())
    for (const ValueId input : graph.node(id).inputs)
      if (!input.is_none()) ++uses_[input.v];
  for (const GraphOutput& output : graph.outputs()) ++uses_[output.value.v];
}

double FoldedBytes::bytes_of(const Node& node) const {
  if (node.kind == NodeKind::constant)
    return bytes_of_constant + byte_count(graph_.type(node.output()));
  return node.kind == NodeKind::operation ? bytes_of_operation : 0;
}

FoldedBytes::Release FoldedBytes::released_by(ValueId value) const {
  Release release;
  std::map<std::uint32_t, std::uint32_t> ended;  // uses of a value that end
  const auto is_needed = [&](ValueId output) {
    if (output == value || folded_[output.v]) return false;
    const auto entry = ended.find(output.v);
    return uses_[output.v] > (entry == ended.end() ? 0 : entry->second);
  };
  std::vector<NodeId> stack = {graph_.producer(value)};
  while (!stack.empty()) {
    const Node& node = graph_.node(stack.back());
    const NodeId id = stack.back();
    stack.pop_back();
    bool needed = node.kind == NodeKind::input;
    for (std::uint32_t k = 0; k < node.output_count; ++k)
      needed = needed || is_needed(node.output(k));
    if (needed) continue;
    release.nodes.push_back(id);
    for (const ValueId input : node.inputs) {
      if (input.is_none()) continue;
      release.ended_uses.push_back(input);
      if (++ended[input.v] == uses_[input.v] && !folded_[input.v])
        stack.push_back(graph_.producer(input));
    }
  }
  return release;
}

double FoldedBytes::added_by(ValueId value) const {
  double added = bytes_of_constant + byte_count(graph_.type(value));
  for (const NodeId id : released_by(value).nodes) added -= bytes_of(graph_.node(id));
  return added;
}

void FoldedBytes::fold(ValueId value) {
  for (const ValueId input : released_by(value).ended_uses) --uses_[input.v];
  folded_[value.v] = true;
}

}  // namespace lemma
