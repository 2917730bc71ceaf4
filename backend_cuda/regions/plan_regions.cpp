#include "backend_cuda/regions/plan_regions.h"

#include <algorithm>

#include "backend/lower/join_products.h"
#include "backend/simulate/simulate.h"
#include "backend_cuda/regions/check_regions.h"
#include "backend_cuda/regions/choose_calls.h"
#include "backend_cuda/regions/cut.h"
#include "ir/expand.h"

namespace lemma::backend {

Result<RegionPlan> plan_regions(const Graph& graph, const RegionOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(const Graph expanded, expand_composites(graph));
  LEMMA_ASSIGN_OR_RETURN(const Graph joined, join_products(expanded));
  LEMMA_ASSIGN_OR_RETURN(const ComputationGraph computations, lower_graph(joined));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Item> items,
                         items_of(computations, options.compile, options.calls));
  RegionPlan plan;
  for (const Item& item : items) plan.candidates += item.candidate ? 1U : 0U;
  if (options.choice == CallChoice::by_cost) {
    LEMMA_ASSIGN_OR_RETURN(const TaskProgram alone, compile(computations, options.compile));
    plan.alone_seconds = simulate(alone).seconds;
  }
  const std::vector<bool> is_call = options.choice == CallChoice::all
                                        ? all_calls(items)
                                        : choose_calls(items, options.calls.launch_overhead,
                                                       options.compile.device.seconds_per_event);
  std::vector<CallCandidate> calls;
  for (std::size_t i = 0; i < items.size(); ++i)
    if (is_call[i]) calls.push_back(*items[i].candidate);
  if (calls.empty()) return plan;
  LEMMA_ASSIGN_OR_RETURN(RegionProgram program,
                         cut(computations, std::move(calls), options.compile, options.calls));
  LEMMA_RETURN_IF_ERROR(check_regions(program));
  plan.cut_seconds = program.seconds;
  if (options.choice == CallChoice::all || program.seconds < plan.alone_seconds)
    plan.program = std::move(program);
  return plan;
}

}  // namespace lemma::backend
