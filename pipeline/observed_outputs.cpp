#include "pipeline/observed_outputs.h"

#include <string>
#include <utility>
#include <vector>

#include "ir/rebuild.h"

namespace lemma {

Result<Graph> with_observer(const Graph& graph, std::span<const char> observed) {
  Graph result = graph;
  std::vector<ValueId> operands;
  std::string name = "observed outputs";
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const GraphOutput& output = graph.outputs()[i];
    if (output.name == name) name += "'";
    if (observed[i] != 0 && graph.type(output.value).is_known()) operands.push_back(output.value);
  }
  if (operands.empty()) return result;
  const OpaqueOperator observer = {"", "Observer", "observed outputs",
                                   "it stands for what is around"};
  const NodeId added =
      result.add_opaque(observer, std::move(operands), {{DataType::boolean, Shape{}}});
  LEMMA_RETURN_IF_ERROR(result.add_output(name, result.node(added).output()));
  return result;
}

Result<Graph> without_observer(const Graph& graph, std::size_t output_count) {
  if (graph.outputs().size() == output_count) return graph;
  Graph copy;
  copy.set_name(graph.name());
  std::vector<char> live(graph.node_count(), 0);
  for (std::size_t i = 0; i < output_count; ++i)
    live[graph.producer(graph.outputs()[i].value).v] = 1;
  for (std::size_t i = graph.node_count(); i-- > 0;)
    for (const ValueId input : graph.nodes()[i].inputs)
      if (live[i] != 0 && !input.is_none()) live[graph.producer(input).v] = 1;
  std::vector<ValueId> values(graph.value_count(), ValueId::none());
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node({i});
    if (live[i] == 0 && node.kind != NodeKind::input) continue;
    std::vector<ValueId> inputs, outputs;
    for (const ValueId input : node.inputs)
      inputs.push_back(input.is_none() ? input : values[input.v]);
    switch (node.kind) {
      case NodeKind::input: {
        LEMMA_ASSIGN_OR_RETURN(const ValueId value,
                               copy.add_input(graph.input_name(node), graph.type(node.output())));
        outputs = {value};
        break;
      }
      case NodeKind::constant: outputs = {copy.add_constant(graph.constant(node))}; break;
      case NodeKind::operation: {
        LEMMA_ASSIGN_OR_RETURN(outputs, add_copy(copy, node, node.attributes, std::move(inputs)));
        break;
      }
      case NodeKind::opaque: {
        const NodeId added =
            copy.add_opaque(graph.opaque(node), std::move(inputs), graph.output_types(node));
        for (std::uint32_t k = 0; k < node.output_count; ++k)
          outputs.push_back(copy.node(added).output(k));
        break;
      }
    }
    for (std::uint32_t k = 0; k < node.output_count; ++k) {
      values[node.output(k).v] = outputs[k];
      copy.suggest_name(outputs[k], graph.suggested_name(node.output(k)));
    }
  }
  for (std::size_t i = 0; i < output_count; ++i)
    LEMMA_RETURN_IF_ERROR(
        copy.add_output(graph.outputs()[i].name, values[graph.outputs()[i].value.v]));
  return copy;
}

}  // namespace lemma
