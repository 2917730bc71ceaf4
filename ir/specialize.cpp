#include "ir/specialize.h"

#include "ir/rebuild.h"

namespace lemma {

namespace {

Shape substitute_shape(Shape shape, const DimensionBindings& bindings) {
  for (Dimension& size : shape) size = substitute(size, bindings);
  return shape;
}

TensorType substitute_type(TensorType type, const DimensionBindings& bindings) {
  if (type.shape) type.shape = substitute_shape(std::move(*type.shape), bindings);
  return type;
}

Attributes substitute_attributes(Attributes attributes, const DimensionBindings& bindings) {
  Attributes result = attributes;
  for (const auto& [name, value] : attributes) {
    if (const auto* shape = std::get_if<Shape>(&value))
      result.set(name, substitute_shape(*shape, bindings));
    if (const auto* dimension = std::get_if<Dimension>(&value))
      result.set(name, substitute(*dimension, bindings));
  }
  return result;
}

}  // namespace

Result<Graph> specialize(const Graph& graph, const DimensionBindings& bindings,
                         std::span<const TensorType> input_types) {
  if (!input_types.empty() && input_types.size() != graph.inputs().size())
    return internal_error("specialize: not one type for each input");
  auto type = [&](const Graph& source, ValueId value) {
    const Node& node = source.node(source.producer(value));
    if (node.kind == NodeKind::input && !input_types.empty()) return input_types[node.payload];
    return substitute_type(source.type(value), bindings);
  };
  auto operation = [&](Graph& target, const Node& node,
                       std::vector<ValueId> inputs) -> Result<std::vector<ValueId>> {
    return add_copy(target, node, substitute_attributes(node.attributes, bindings),
                    std::move(inputs));
  };
  return rebuild(graph, type, operation);
}

}  // namespace lemma
