#pragma once
// What operators take on ranks, each by itself, while all ranks compute it.

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "costmodel/cost_key.h"
#include "costmodel/device.h"
#include "ir/graph.h"
#include "plans/calibration/rank_timer.h"
#include "plans/clusters/cluster.h"
#include "plans/on_ranks/rank_program.h"
#include "profiler/single_operator.h"

namespace lemma::plans {

/// An operator of a model, or a copy of it on parts of its operands, alone in a graph, and operands for it.
struct LoneOperator {
  std::string text;      // operator_text
  double predicted = 0;  // seconds by the description of the device
  SingleOperator alone;
};

/// The operators of a graph in all ways that the planner considers for the meshes of a cluster, and whole; those that are predicted to
/// take longest first. What takes no time by the description is left out. An error: plan_for has one.
Result<std::vector<LoneOperator>> operators_in_all_ways(const Graph& graph,
                                                        const clusters::Cluster& cluster,
                                                        const Device& device);

struct OperatorsOnRanksRequest {
  /// What computes the graph with a number, as it computes stages of a program.
  StageEngine engine;
  std::function<void(std::size_t done, std::size_t all)> on_progress = {};
};

/// Measures the operators in order until the time is over. All ranks call it, and get the same, ordered by the texts. What cannot be
/// computed on random operands is left out.
Result<std::vector<clusters::MeasuredOperator>> operators_on_ranks(
    Communicator& communicator, RankTimer& timer, const std::vector<LoneOperator>& operators,
    const OperatorsOnRanksRequest& request);

}  // namespace lemma::plans
