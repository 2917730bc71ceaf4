#pragma once
// Chooses how a graph is split over the devices of a mesh: a way for each operator, so that computing and communicating take
// the least time within the memory of a device (docs/plans.md, "Choosing a plan").

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "costmodel/operator_costs.h"
#include "plans/choice/choose.h"
#include "plans/clusters/cluster.h"
#include "plans/partition/partition.h"
#include "plans/partition/strategies.h"

namespace lemma::plans {

/// A plan with inputs and weights that are placed by hand; of the others, the replicated placement. What operators do follows
/// (plans/spread/spread.h), or is what a quick search finds, if that is faster.
struct PlanByHand {
  std::string name;
  std::map<std::string, Placement, std::less<>> placements;
};

struct PlannerRequest {
  clusters::Mesh mesh;
  const OperatorCosts* costs = nullptr;  // of one device
  std::optional<choice::Bytes> memory_limit;
  /// Other plans are looked for as well, for comparison (Planned::others).
  bool compares = false;
  /// Plans beside it, such as those of experts. The search begins with the best of these, of data parallelism and of everything on
  /// every device, so that it is behind none of them.
  std::vector<PlanByHand> by_hand = {};
  /// Of Metropolis and Hastings' search, where `compares`.
  std::uint64_t proposals = 100'000;
  /// The search ends with the best that it has. Operators whose ways are not found by then are on every device.
  choice::Stop stop = {};
  /// Ways that are known of operators of the same graph; those that are found are added. None: they are found anew.
  Strategies* strategies = nullptr;
  /// Is told for how many of the graph's operators the ways are found; none: nobody is.
  std::function<void(std::size_t done, std::size_t all)> on_progress = {};
};

struct Planned {
  PlanChoice choice;
  choice::Outcome outcome;
  double computing = 0, communicating = 0;  // seconds of the choice
  double on_one_device = 0;                 // seconds of the graph on one device
  std::vector<std::string> claims;          // that the ways are proved by, as rules
  double searching = 0;                     // seconds that the choice took
  struct Other {
    std::string name;
    std::optional<double> seconds;    // none: no such plan is allowed
    std::optional<double> searching;  // seconds that it took to find; none: it was not searched for
  };
  std::vector<Other> others;
};

/// The graph has known sizes and no opaque nodes. An error of kind `bad_input` if no plan fits into the memory, or if a plan by
/// hand names what the graph does not have.
Result<Planned> plan_for(const Graph& graph, const PlannerRequest& request);

}  // namespace lemma::plans
