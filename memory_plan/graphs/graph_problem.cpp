#include "memory_plan/graphs/graph_problem.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "costmodel/graph_cost.h"
#include "facts/weight_only.h"

namespace lemma::memory_plan {

namespace {

Result<Bytes> bytes_of(const TensorType& type) {
  if (!type.shape || !is_constant(*type.shape))
    return bad_input(
        fmt::format("the sizes of a value, {}, are not fixed; give --shape", text(type)));
  return static_cast<Bytes>(element_count(*type.shape).offset()) * byte_size(type.data_type);
}

}  // namespace

Result<GraphProblem> problem_of(const Graph& graph, const OperatorCosts& costs) {
  GraphProblem result;
  const std::vector<bool> weight_only = weight_only_nodes(graph);
  std::vector<std::optional<NodeNumber>> numbers(graph.node_count());
  for (const NodeId id : graph.live_nodes()) {
    const lemma::Node& node = graph.node(id);
    if (node.kind == NodeKind::input || node.kind == NodeKind::constant) continue;
    if (node.kind == NodeKind::opaque)
      return unsupported(fmt::format("a memory limit with {}: {}", graph.opaque(node).name,
                                     graph.opaque(node).reason));
    memory_plan::Node planned;
    planned.seconds = costs.find(cost_key(graph, node, weight_only, costs)).seconds;
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      LEMMA_ASSIGN_OR_RETURN(const Bytes bytes, bytes_of(graph.type(node.output(i))));
      planned.bytes += bytes;
    }
    for (const ValueId input : node.inputs)
      if (!input.is_none() && numbers[graph.producer(input).v])
        planned.operands.push_back(*numbers[graph.producer(input).v]);
    std::sort(planned.operands.begin(), planned.operands.end());
    planned.operands.erase(std::unique(planned.operands.begin(), planned.operands.end()),
                           planned.operands.end());
    numbers[id.v] = static_cast<NodeNumber>(result.nodes.size());
    result.nodes.push_back(id);
    result.problem.nodes.push_back(std::move(planned));
  }
  for (const GraphOutput& output : graph.outputs())
    if (const auto number = numbers[graph.producer(output.value).v])
      result.problem.nodes[*number].is_kept = true;
  return result;
}

std::vector<NodeId> nodes_of(const GraphProblem& problem, const Sequence& sequence) {
  std::vector<NodeId> nodes;
  for (const NodeNumber number : sequence) nodes.push_back(problem.nodes[number]);
  return nodes;
}

}  // namespace lemma::memory_plan
