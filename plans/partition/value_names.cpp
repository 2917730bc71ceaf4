#include "plans/partition/value_names.h"

#include <fmt/format.h>

namespace lemma::plans {

Names::Names(const Graph& graph) : graph_(graph) {
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    for (std::uint32_t i = 0; i < node.output_count; ++i) ++uses_[given(node.output(i))];
  }
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      values_.emplace(of(node.output(i)), node.output(i));
  }
}

std::string Names::of(ValueId value) const {
  const std::string name = given(value);
  return name.empty() || uses_.at(name) > 1 ? fmt::format("value {}", value.v) : name;
}

std::optional<ValueId> Names::value(const std::string& name) const {
  const auto place = values_.find(name);
  if (place == values_.end()) return std::nullopt;
  return place->second;
}

Result<NodeId> Names::operation(const std::string& name) const {
  const auto first = value(name);
  if (!first) return bad_input("is not in the model");
  const NodeId id = graph_.producer(*first);
  const Node& node = graph_.node(id);
  if (node.kind != NodeKind::operation || node.output() != *first)
    return bad_input("is not the first output of an operation");
  return id;
}

std::string Names::given(ValueId value) const {
  const Node& node = graph_.node(graph_.producer(value));
  return node.kind == NodeKind::input ? graph_.input_name(node) : graph_.suggested_name(value);
}

}  // namespace lemma::plans
