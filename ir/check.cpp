#include "ir/check.h"

#include <set>

#include <fmt/format.h>

namespace lemma {

std::string_view name(Stage stage) {
  switch (stage) {
    case Stage::imported: return "imported";
    case Stage::optimized: return "optimized";
    case Stage::concrete: return "concrete";
  }
  return "";
}

namespace {

Result<void> check_types(const Graph& graph, const Node& node) {
  const OperatorRecord& op = graph.op(node);
  const std::vector<TensorType> inputs = graph.input_types(node);
  LEMMA_ASSIGN_OR_RETURN(const Attributes completed,
                         complete_attributes(op, inputs, node.attributes, node.output_count));
  if (!(completed == node.attributes))
    return bad_input(fmt::format("attributes {} are not in normal form {}", text(node.attributes),
                                 text(completed)));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<TensorType> types,
                         infer_types(op, {inputs, node.attributes, node.output_count}));
  for (std::uint32_t k = 0; k < node.output_count; ++k)
    if (!(types[k] == graph.type(node.output(k))))
      return bad_input(fmt::format("output {} has the type {}, but the operator gives {}", k,
                                   text(graph.type(node.output(k))), text(types[k])));
  return {};
}

Result<void> check_node(const Graph& graph, NodeId id, Stage stage) {
  const Node& node = graph.node(id);
  for (const ValueId input : node.inputs)
    if (!input.is_none() && (input.v >= graph.value_count() || graph.producer(input) >= id))
      return bad_input("an input does not precede its use");
  for (std::uint32_t k = 0; k < node.output_count; ++k) {
    const TensorType& type = graph.type(node.output(k));
    if (type.shape && !has_sizes(*type.shape))
      return bad_input(fmt::format("output {} has the type {}", k, text(type)));
  }
  if (node.kind == NodeKind::operation) LEMMA_RETURN_IF_ERROR(check_types(graph, node));
  if (stage != Stage::concrete) return {};
  if (node.kind == NodeKind::opaque)
    return unsupported(
        fmt::format("{} is opaque: {}", graph.opaque(node).name, graph.opaque(node).reason));
  for (std::uint32_t k = 0; k < node.output_count; ++k) {
    const TensorType& type = graph.type(node.output(k));
    if (!type.is_known() || !is_constant(*type.shape))
      return bad_input(fmt::format("output {} has the type {}", k, text(type)));
  }
  return {};
}

}  // namespace

Result<void> check(const Graph& graph, Stage stage) {
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    auto checked = check_node(graph, {i}, stage);
    if (!checked)
      return with_context(fmt::format("{} graph, node {}", name(stage), i),
                          std::move(checked.error()));
  }
  std::set<std::string> names;
  for (const GraphOutput& output : graph.outputs()) {
    if (output.value.is_none() || output.value.v >= graph.value_count())
      return bad_input(fmt::format("output '{}' is no value of the graph", output.name));
    if (!names.insert(output.name).second)
      return bad_input(fmt::format("two outputs are named '{}'", output.name));
  }
  if (stage == Stage::optimized && graph.live_nodes().size() != graph.node_count())
    return bad_input("the optimized graph has nodes that no output needs");
  return {};
}

}  // namespace lemma
