#pragma once
// One application of an operator, for tests of shape rules and normal forms.

#include <initializer_list>
#include <string>
#include <string_view>

#include "ir/graph.h"
#include "ir/graph_text.h"

namespace lemma {

struct Application {
  std::string types;       // of the outputs, "f32[2], i64[2]"; or the error
  std::string attributes;  // in normal form
};

/// Applies the operator to inputs of the given types.
inline Application apply(std::string_view name, std::initializer_list<std::string_view> inputs,
                         Attributes attributes = {}, std::size_t output_count = 1) {
  Graph graph;
  std::vector<ValueId> values;
  for (const std::string_view type : inputs)
    values.push_back(
        *graph.add_input("x" + std::to_string(values.size()), *parse_tensor_type(type)));
  const auto node =
      graph.add_operation(operator_named(name), values, std::move(attributes), output_count);
  if (!node) return {node.error().message, ""};
  Application result{"", text(graph.node(*node).attributes)};
  for (const TensorType& type : graph.output_types(graph.node(*node)))
    result.types += (result.types.empty() ? "" : ", ") + text(type);
  // Normalizing the normal form must not change it.
  const auto again =
      graph.add_operation(operator_named(name), values, graph.node(*node).attributes, output_count);
  if (!again || !(*again == *node)) result.attributes += " (not stable)";
  return result;
}

inline Shape dimensions(std::initializer_list<std::string_view> texts) {
  Shape shape;
  for (const std::string_view part : texts) shape.push_back(*parse_dimension(part));
  return shape;
}

}  // namespace lemma
