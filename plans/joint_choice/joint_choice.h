#pragma once
// The network and the plan together: a plan for the network, then a network for the plan, again and again (TopoOpt's alternating
// optimization; Wang et al., NSDI 2023, section 4.1).

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plans/networks/choose_wiring.h"
#include "plans/planner/planner.h"

namespace lemma::plans {

struct NetworkRequest {
  const OperatorCosts* costs = nullptr;  // of one device
  std::optional<choice::Bytes> memory_limit;
  std::size_t devices = 2;
  std::uint64_t seed = 0;
  /// Is told what is done; none: nobody is.
  std::function<void(const std::string& text)> on_progress = {};
};

/// The best plan that was found for a network.
struct NetworkPlan {
  networks::Network network;
  clusters::Mesh mesh;  // with what collectives take on the network
  Planned planned;
  networks::Demands demands;  // of the plan's program
  double communicating = 0;   // seconds of the demands, one after the other

  double seconds() const { return planned.computing + communicating; }
};

/// What one step of the alternation has found.
struct Round {
  std::string mesh, found_by;
  double plan_seconds = 0;    // of the plan on the network that it was made for
  double wiring_seconds = 0;  // of the same plan on the wiring that was chosen for it
};

struct JointPlan {
  NetworkPlan plan;
  networks::Wiring wiring;
  std::vector<Round> rounds;
};

/// Makes plans of one graph for several networks; what is known of its operators is kept between them.
class NetworkPlanner {
 public:
  /// Both have to outlive it. The graph has known sizes and no opaque nodes.
  NetworkPlanner(const Graph& graph, const NetworkRequest& request)
      : graph_(graph), request_(request), strategies_(graph) {}

  /// The best of the plans on all meshes of one or two axes. An error where none fits into the memory.
  Result<NetworkPlan> plan_on(const networks::Network& network);
  /// For each mesh: a plan as if a switch joined all ports of all devices, a wiring for its demands, a plan for the wiring, and so on
  /// until nothing gets better. The best plan and wiring of all. Equal seeds give equal outcomes.
  Result<JointPlan> plan_with_wiring(std::size_t degree, const networks::LinkSpeed& link);

 private:
  Result<NetworkPlan> plan_on(const networks::Network& network, const networks::MeshSizes& sizes);
  Result<void> alternate(const networks::MeshSizes& sizes, std::size_t degree,
                         const networks::LinkSpeed& link, std::optional<JointPlan>& best,
                         std::vector<Round>& rounds);
  void tell(const std::string& text) const {
    if (request_.on_progress) request_.on_progress(text);
  }

  const Graph& graph_;
  const NetworkRequest& request_;
  Strategies strategies_;
};

/// What the exchanges of a plan's program ask of a network.
Result<networks::Demands> demands_of_plan(const Graph& graph, const PlanChoice& choice);

/// Meshes of so many devices with one or two axes, all sizes above 1: {16}, {2, 8}, {4, 4}, {8, 2}.
std::vector<networks::MeshSizes> meshes_of(std::size_t devices);

}  // namespace lemma::plans
