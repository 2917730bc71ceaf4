#include "backend_cuda/libraries/library_plan.h"

#include <map>

#include "backend_cuda/libraries/library_problem.h"
#include "costmodel/graph_cost.h"
#include "costmodel/operator_count.h"
#include "ir/weight_only.h"

namespace lemma::backend {

Result<LibraryPlan> library_plan(const Graph& graph, const OperatorCosts& costs) {
  LibraryPlan plan;
  plan.launch_seconds = costs.target().device.launch_overhead;
  const std::vector<bool> weight_only = weight_only_nodes(graph);
  std::map<std::string, bool> is_call;  // by text of the key
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    if (weight_only[id.v] || node.kind == NodeKind::input) continue;
    if (node.kind == NodeKind::opaque)
      return unsupported("an operator without a definition has no cost");
    const CostKey key = cost_key(graph, node, weight_only, costs);
    if (key.op->has(view)) continue;
    const auto [known, is_new] = is_call.try_emplace(text(key), false);
    if (is_new) known->second = library_problem(key).has_value();
    ++(known->second ? plan.calls : plan.kernels);
    plan.bytes += count_operations(key).bytes();
    plan.seconds += costs.find(key).seconds;
  }
  return plan;
}

}  // namespace lemma::backend
