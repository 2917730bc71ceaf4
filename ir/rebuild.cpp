#include "ir/rebuild.h"

#include <fmt/format.h>

namespace lemma {

namespace {

std::vector<ValueId> outputs_of(const Node& node, std::uint32_t count) {
  std::vector<ValueId> outputs;
  for (std::uint32_t k = 0; k < count; ++k) outputs.push_back(node.output(k));
  return outputs;
}

void enter(const Graph& source, const Node& node, const std::vector<ValueId>& outputs,
           Graph& target, std::vector<ValueId>& values, ValueNames names) {
  for (std::uint32_t k = 0; k < node.output_count; ++k) {
    values[node.output(k).v] = outputs[k];
    if (names == ValueNames::kept)
      target.suggest_name(outputs[k], source.suggested_name(node.output(k)));
  }
}

}  // namespace

Result<std::vector<ValueId>> add_copy(Graph& target, const Node& node, Attributes attributes,
                                      std::vector<ValueId> inputs) {
  LEMMA_ASSIGN_OR_RETURN(
      const NodeId id,
      target.add_operation(node.op, std::move(inputs), std::move(attributes), node.output_count));
  return outputs_of(target.node(id), node.output_count);
}

Result<std::vector<ValueId>> add_copy(Graph& target, const Graph& source, const Node& node,
                                      std::vector<ValueId> inputs) {
  switch (node.kind) {
    case NodeKind::input: {
      LEMMA_ASSIGN_OR_RETURN(const ValueId value,
                             target.add_input(source.input_name(node), source.type(node.output())));
      return std::vector{value};
    }
    case NodeKind::constant: return std::vector{target.add_constant(source.constant(node))};
    case NodeKind::operation: return add_copy(target, node, node.attributes, std::move(inputs));
    case NodeKind::opaque: break;
  }
  const NodeId id =
      target.add_opaque(source.opaque(node), std::move(inputs), source.output_types(node));
  return outputs_of(target.node(id), node.output_count);
}

std::vector<ValueId> operands_in(const Node& node, std::span<const ValueId> values) {
  std::vector<ValueId> operands;
  for (const ValueId input : node.inputs)
    operands.push_back(input.is_none() ? input : values[input.v]);
  return operands;
}

Result<void> copy_node(const Graph& source, const Node& node, Graph& target,
                       std::vector<ValueId>& values, ValueNames names) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                         add_copy(target, source, node, operands_in(node, values)));
  enter(source, node, outputs, target, values, names);
  return {};
}

Result<Graph> rebuild(const Graph& source, const RebuildType& type,
                      const RebuildOperation& operation) {
  Graph target;
  target.set_name(source.name());
  std::vector<ValueId> value_of(source.value_count(), ValueId::none());
  for (const NodeId id : source.live_nodes()) {
    const Node& node = source.node(id);
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
        auto made = operation(target, node, operands_in(node, value_of));
        if (!made) return with_context(fmt::format("node {}", id.v), std::move(made.error()));
        outputs = std::move(*made);
        break;
      }
      case NodeKind::opaque: {
        std::vector<TensorType> types;
        for (std::uint32_t i = 0; i < node.output_count; ++i)
          types.push_back(type(source, node.output(i)));
        const NodeId made =
            target.add_opaque(source.opaque(node), operands_in(node, value_of), std::move(types));
        outputs = outputs_of(target.node(made), node.output_count);
        break;
      }
    }
    if (outputs.size() != node.output_count)
      return internal_error(fmt::format("node {} was replaced by {} values, not {}", id.v,
                                        outputs.size(), node.output_count));
    enter(source, node, outputs, target, value_of, ValueNames::kept);
  }
  for (const GraphOutput& output : source.outputs())
    LEMMA_RETURN_IF_ERROR(target.add_output(output.name, value_of[output.value.v]));
  return target;
}

}  // namespace lemma
