#include "backend_cuda/libraries/library_plan.h"

#include <map>

#include <fmt/format.h>

#include "backend_cuda/libraries/library_call.h"
#include "costmodel/graph_cost.h"
#include "costmodel/operator_count.h"
#include "facts/weight_only.h"

namespace lemma::backend {

Result<LibraryPlan> library_plan(const Graph& graph, const OperatorCosts& costs) {
  LibraryPlan plan;
  plan.launch_seconds = costs.priced_device().device.launch_overhead;
  const std::vector<bool> weight_only = weight_only_nodes(graph);
  std::map<std::string, std::string> calls;  // by text of the key; empty: a kernel
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    if (weight_only[id.v] || node.kind == NodeKind::input) continue;
    if (node.kind == NodeKind::opaque)
      return unsupported("an operator without a definition has no cost");
    const CostKey key = cost_key(graph, node, weight_only, costs);
    if (key.op->has(view)) continue;
    const auto [known, is_new] = calls.try_emplace(text(key));
    if (is_new)
      if (const auto problem = library_problem(key)) known->second = call_line(*problem);
    const double bytes = count_operations(key).bytes();
    ++(known->second.empty() ? plan.kernels : plan.calls);
    plan.lines.push_back(known->second.empty() ? fmt::format("copy {:.0f}", bytes) : known->second);
    plan.bytes += bytes;
    plan.seconds += costs.find(key).seconds;
  }
  return plan;
}

}  // namespace lemma::backend
