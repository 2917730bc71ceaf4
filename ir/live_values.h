#pragma once
// The values of a graph while it is computed node by node.

#include <cstdint>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace lemma {

/// A value without users is not kept, and one whose last user has run is let go, so that its memory is free.
/// `Value` is default-constructible; that is a value that is not there.
template <typename Value>
class LiveValues {
 public:
  /// The graph must outlive this.
  LiveValues(const Graph& graph, const std::vector<NodeId>& live)
      : graph_(graph), values_(graph.value_count()), uses_(graph.value_count(), 0) {
    for (const NodeId id : live)
      for (const ValueId input : graph.node(id).inputs)
        if (!input.is_none()) ++uses_[input.v];
    for (const GraphOutput& output : graph.outputs()) ++uses_[output.value.v];
  }

  const Value& operator[](ValueId value) const { return values_[value.v]; }

  /// Sets what the node gave, at least one value for each of its outputs. Its operands have one user
  /// less.
  void set(const Node& node, std::vector<Value> outputs) {
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      if (uses_[node.output(i).v] != 0) values_[node.output(i).v] = std::move(outputs[i]);
    for (const ValueId input : node.inputs)
      if (!input.is_none() && --uses_[input.v] == 0) values_[input.v] = Value();
  }

  std::vector<Value> outputs() const {
    std::vector<Value> result;
    for (const GraphOutput& output : graph_.outputs()) result.push_back(values_[output.value.v]);
    return result;
  }

 private:
  const Graph& graph_;
  std::vector<Value> values_;
  std::vector<std::uint32_t> uses_;  // that have not run yet
};

}  // namespace lemma
