#include "plans/joint_choice/joint_choice.h"

#include <utility>

#include <fmt/format.h>

#include "plans/on_ranks/rank_program.h"
#include "plans/planner/simulation.h"

namespace lemma::plans {

namespace {

/// More rounds are not needed: after a few the plan stays the same.
constexpr int most_rounds = 6;

}  // namespace

std::vector<networks::MeshSizes> meshes_of(std::size_t devices) {
  std::vector<networks::MeshSizes> result = {{devices}};
  for (std::size_t first = 2; first < devices; ++first)
    if (devices % first == 0) result.push_back({first, devices / first});
  return result;
}

Result<networks::Demands> demands_of_plan(const Graph& graph, const PlanChoice& choice) {
  LEMMA_ASSIGN_OR_RETURN(const Program program, partitioned(graph, choice));
  // All devices have the same exchanges.
  LEMMA_ASSIGN_OR_RETURN(const RankProgram own, rank_program(program, 0));
  networks::Demands demands;
  for (const MeshAxis& axis : choice.mesh.axes)
    demands.sizes.push_back(static_cast<std::size_t>(axis.size));
  for (const Stage& stage : own.stages)
    for (const Exchange& exchange : stage.exchanges) {
      const auto axis = static_cast<std::size_t>(exchange.attributes.integer("device_axis"));
      LEMMA_ASSIGN_OR_RETURN(const auto demand,
                             demand_of(exchange.op, exchange.operand_type, demands.sizes[axis]));
      if (demand) demands.demands.push_back({demand->collective, axis, demand->bytes, 1});
    }
  return networks::merged(std::move(demands));
}

Result<NetworkPlan> NetworkPlanner::plan_on(const networks::Network& network,
                                            const networks::MeshSizes& sizes) {
  tell(fmt::format("a plan on {} as {}", network.name, networks::text_of(sizes)));
  NetworkPlan result;
  result.network = network;
  result.mesh = networks::mesh_on(network, sizes);
  PlannerRequest request;
  request.mesh = result.mesh;
  request.costs = request_.costs;
  request.memory_limit = request_.memory_limit;
  request.strategies = &strategies_;
  LEMMA_ASSIGN_OR_RETURN(result.planned, plan_for(graph_, request));
  LEMMA_ASSIGN_OR_RETURN(result.demands, demands_of_plan(graph_, result.planned.choice));
  result.communicating = networks::seconds_of(result.demands, result.mesh);
  return result;
}

Result<NetworkPlan> NetworkPlanner::plan_on(const networks::Network& network) {
  std::optional<Result<NetworkPlan>> best;
  for (const networks::MeshSizes& sizes : meshes_of(request_.devices)) {
    Result<NetworkPlan> plan = plan_on(network, sizes);
    const bool is_better = !best || (plan && (!*best || plan->seconds() < (*best)->seconds()));
    if (is_better) best = std::move(plan);
  }
  return *std::move(best);
}

Result<void> NetworkPlanner::alternate(const networks::MeshSizes& sizes, std::size_t degree,
                                       const networks::LinkSpeed& link,
                                       std::optional<JointPlan>& best, std::vector<Round>& rounds) {
  const networks::LinkSpeed all_ports{link.latency_seconds,
                                      link.bytes_per_second * static_cast<double>(degree)};
  LEMMA_ASSIGN_OR_RETURN(
      NetworkPlan plan,
      plan_on(networks::switched(request_.devices, all_ports, "a switch"), sizes));
  double least = 0;  // of this mesh
  for (int number = 0; number < most_rounds; ++number) {
    tell(fmt::format("a network for the plan on {}", networks::text_of(sizes)));
    const networks::ChosenWiring chosen =
        networks::choose_wiring(plan.demands, degree, link, {request_.seed, 4000});
    rounds.push_back({networks::text_of(sizes), chosen.found_by, plan.seconds(),
                      plan.planned.computing + chosen.seconds});
    const networks::Network network = networks::network_of(
        chosen.wiring, link,
        fmt::format("{} devices with {} ports each, wired for the plan", request_.devices, degree));
    // The plan is not made for this network, but may be the best on it.
    NetworkPlan moved = plan;
    moved.network = network;
    moved.mesh = networks::mesh_on(network, sizes);
    moved.communicating = networks::seconds_of(moved.demands, moved.mesh);
    LEMMA_ASSIGN_OR_RETURN(plan, plan_on(network, sizes));
    if (moved.seconds() < plan.seconds()) plan = std::move(moved);
    if (!best || plan.seconds() < best->plan.seconds()) best = JointPlan{plan, chosen.wiring, {}};
    if (number > 0 && plan.seconds() >= least * (1 - 1e-9)) break;
    least = plan.seconds();
  }
  return {};
}

Result<JointPlan> NetworkPlanner::plan_with_wiring(std::size_t degree,
                                                   const networks::LinkSpeed& link) {
  std::optional<JointPlan> best;
  std::vector<Round> rounds;
  std::optional<Error> fault;
  for (const networks::MeshSizes& sizes : meshes_of(request_.devices)) {
    auto done = alternate(sizes, degree, link, best, rounds);
    if (!done && !fault) fault = std::move(done.error());
  }
  if (!best) return tl::unexpected<Error>(*std::move(fault));
  best->rounds = std::move(rounds);
  return *std::move(best);
}

}  // namespace lemma::plans
