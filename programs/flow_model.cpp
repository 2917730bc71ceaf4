#include "programs/flow_model.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "facts/opaque_facts.h"
#include "programs/flow_block_builder.h"

namespace lemma {

namespace {

using backend::FlowTensorNumber;

/// A tensor for each input of the graph.
Result<std::map<std::string, FlowValue>> add_inputs(const Graph& graph, FlowParts& parts) {
  std::map<std::string, FlowValue> values;
  for (const NodeId id : graph.inputs()) {
    const Node& node = graph.node(id);
    const std::string& name = graph.input_name(node);
    const TensorType& type = graph.type(node.output());
    if (!type.is_known() || !constant_sizes(*type.shape))
      return unsupported(fmt::format("input '{}' has the type {}", name, text(type)));
    const FlowTensorNumber tensor = parts.add_tensor(name, type);
    parts.result.blocks.inputs.push_back(tensor);
    values.emplace(name, FlowValue::of(parts, tensor));
  }
  return values;
}

/// The results of the outermost block, and tensors for the outputs.
Result<void> add_outputs(const Graph& graph, const std::vector<FlowValue>& values,
                         FlowBlockBuilder& root, FlowParts& parts) {
  std::set<FlowTensorNumber> with_free_rows;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string& name = graph.outputs()[i].name;
    auto result = root.tensor_of(values[i], true);
    if (!result) return with_context(fmt::format("output '{}'", name), std::move(result.error()));
    parts.result.blocks.root.results.push_back(*result);
    const bool has_free_rows = parts.tensor(*result).has_free_rows;
    if (has_free_rows && !with_free_rows.insert(*result).second)
      return unsupported(fmt::format(
          "output '{}' is another output, too, and only a run decides how many rows it has", name));
    const FlowTensorNumber output = parts.add_tensor(name, values[i].type);
    parts.result.blocks.tensors[output].has_free_rows = has_free_rows;
    parts.result.blocks.outputs.push_back(output);
  }
  return {};
}

/// A program has a segment at least, which holds its weights.
Result<void> require_segment(FlowModel& model) {
  if (!model.segments.empty()) return {};
  Graph& graph = model.segments.emplace_back();
  return graph.add_output("nothing", graph.add_constant(Constant::scalar_f32(0)));
}

}  // namespace

bool has_control_flow(const Graph& graph) {
  const std::vector<NodeId> live = graph.live_nodes();
  return std::any_of(live.begin(), live.end(), [&graph](NodeId id) {
    const Node& node = graph.node(id);
    return node.kind == NodeKind::opaque && graph.opaque(node).domain.empty() &&
           runs_bodies(graph.opaque(node).name);
  });
}

Result<FlowModel> flow_model(const OnnxModel& model, std::int64_t most_rows) {
  FlowParts parts{{}, model.envelope, most_rows};
  LEMMA_ASSIGN_OR_RETURN(const auto inputs, add_inputs(model.graph, parts));
  FlowBlockBuilder root(parts, 0);
  LEMMA_ASSIGN_OR_RETURN(const std::vector<FlowValue> outputs, root.add_graph(model.graph, inputs));
  LEMMA_RETURN_IF_ERROR(add_outputs(model.graph, outputs, root, parts));
  parts.result.blocks.root.steps = root.take_steps();
  LEMMA_RETURN_IF_ERROR(require_segment(parts.result));
  return std::move(parts.result);
}

}  // namespace lemma
