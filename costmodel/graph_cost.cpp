#include "costmodel/graph_cost.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "facts/weight_only.h"

namespace lemma {

CostKey cost_key(const Graph& graph, const Node& node, const std::vector<bool>& weight_only,
                 const OperatorCosts& costs) {
  const std::vector<TensorType> inputs = graph.input_types(node);
  const std::vector<TensorType> outputs = graph.output_types(node);
  std::vector<bool> constant;
  for (const ValueId input : node.inputs)
    constant.push_back(!input.is_none() && weight_only[graph.producer(input).v]);
  return costs.key(graph.op(node), {inputs, node.attributes, node.output_count}, outputs,
                   std::move(constant));
}

GraphCost cost_of(const Graph& graph, const OperatorCosts& costs) {
  GraphCost total;
  const std::vector<bool> weight_only = weight_only_nodes(graph);
  std::vector<bool> counted(graph.node_count(), false);
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    if (weight_only[id.v] || node.kind == NodeKind::input) continue;
    ++total.operators;
    for (const ValueId input : node.inputs) {
      if (input.is_none()) continue;
      const NodeId producer = graph.producer(input);
      if (!weight_only[producer.v] || counted[producer.v]) continue;
      counted[producer.v] = true;
      const TensorType& type = graph.type(input);
      if (!type.shape || !is_constant(*type.shape)) continue;
      const auto elements = element_count(*type.shape).offset();
      total.parameters += elements;
      total.parameter_bytes += static_cast<double>(elements) * bits(type.data_type) / 8;
    }
    if (node.kind == NodeKind::opaque) {
      total.seconds += costs.opaque_seconds();
      total.provenance = Provenance::analytic;
      continue;
    }
    const CostKey key = cost_key(graph, node, weight_only, costs);
    const Cost cost = costs.find(key);
    total.seconds += cost.seconds;
    total.provenance = std::max(total.provenance, cost.provenance);
    if (key.op->has(view)) continue;
    const OperationCount work = count_operations(key);
    total.flops += work.flops;
    total.bytes += work.bytes();
  }
  return total;
}

std::vector<CostKey> distinct_keys(std::span<const Graph* const> graphs,
                                   const OperatorCosts& costs) {
  std::map<std::string, std::pair<double, CostKey>> distinct;
  for (const Graph* graph : graphs) {
    const std::vector<bool> weight_only = weight_only_nodes(*graph);
    for (const NodeId id : graph->live_nodes()) {
      const Node& node = graph->node(id);
      if (node.kind != NodeKind::operation || weight_only[id.v]) continue;
      CostKey key = cost_key(*graph, node, weight_only, costs);
      const double seconds = costs.find(key).seconds;
      distinct.try_emplace(text(key), seconds, std::move(key));
    }
  }
  std::vector<std::pair<double, CostKey>> order;
  for (auto& [text, entry] : distinct) order.push_back(std::move(entry));
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<CostKey> result;
  for (auto& [seconds, key] : order) result.push_back(std::move(key));
  return result;
}

Result<std::vector<Cost>> SumOfOperators::evaluate(std::span<const Graph* const> graphs) const {
  std::vector<Cost> result;
  for (const Graph* graph : graphs) {
    const GraphCost cost = cost_of(*graph, costs_);
    result.push_back({cost.seconds, 0, cost.provenance});
  }
  return result;
}

}  // namespace lemma
