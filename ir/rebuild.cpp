#include "ir/rebuild.h"

#include <fmt/format.h>

namespace lemma {

Result<std::vector<ValueId>> add_copy(Graph& target, const Node& node, Attributes attributes,
                                      std::vector<ValueId> inputs) {
  LEMMA_ASSIGN_OR_RETURN(
      const NodeId id,
      target.add_operation(node.op, std::move(inputs), std::move(attributes), node.output_count));
  std::vector<ValueId> outputs;
  for (std::uint32_t i = 0; i < node.output_count; ++i)
    outputs.push_back(target.node(id).output(i));
  return outputs;
}

Result<Graph> rebuild(const Graph& source, const RebuildType& type,
                      const RebuildOperation& operation) {
  Graph target;
  target.set_name(source.name());
  std::vector<ValueId> value_of(source.value_count(), ValueId::none());
  for (const NodeId id : source.live_nodes()) {
    const Node& node = source.node(id);
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs)
      inputs.push_back(input.is_none() ? input : value_of[input.v]);
    std::vector<ValueId> outputs;
    switch (node.kind) {
      case NodeKind::input: {
        LEMMA_ASSIGN_OR_RETURN(const ValueId value, target.add_input(source.input_name(node),
                                                                     type(source, node.output())));
        outputs = {value};
        break;
      }
      case NodeKind::constant: outputs = {target.add_constant(source.constant(node))}; break;
      case NodeKind::operation: {
        auto made = operation(target, node, std::move(inputs));
        if (!made) return with_context(fmt::format("node {}", id.v), std::move(made.error()));
        outputs = std::move(*made);
        break;
      }
      case NodeKind::opaque: {
        std::vector<TensorType> types;
        for (std::uint32_t i = 0; i < node.output_count; ++i)
          types.push_back(type(source, node.output(i)));
        const NodeId made =
            target.add_opaque(source.opaque(node), std::move(inputs), std::move(types));
        for (std::uint32_t i = 0; i < node.output_count; ++i)
          outputs.push_back(target.node(made).output(i));
        break;
      }
    }
    if (outputs.size() != node.output_count)
      return internal_error(fmt::format("node {} was replaced by {} values, not {}", id.v,
                                        outputs.size(), node.output_count));
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      value_of[node.output(i).v] = outputs[i];
      target.suggest_name(outputs[i], source.suggested_name(node.output(i)));
    }
  }
  for (const GraphOutput& output : source.outputs())
    LEMMA_RETURN_IF_ERROR(target.add_output(output.name, value_of[output.value.v]));
  return target;
}

}  // namespace lemma
