#pragma once
// Chooses on which device of a cluster each operator of a graph is: stages of a pipeline, branches, wavefronts
// (docs/plans.md, "Operators on devices of their own").

#include <optional>

#include "plans/assignment/assignment.h"
#include "plans/planner/simulation.h"

namespace lemma::plans {

struct OwnOperatorsRequest {
  const clusters::Cluster* cluster = nullptr;
  const OperatorCosts* costs = nullptr;  // of one device
  std::size_t ranks = 1;                 // the first devices of the cluster
  std::size_t microbatches = 1;
  std::optional<double> memory_limit;  // bytes of a device
};

struct PlacedPlan {
  Assignment assignment;
  Simulation simulation;
  std::string found_by;      // of the ways to choose
  double on_one_device = 0;  // seconds
  double critical_path = 0;  // operators that wait for each other, without messages
  double least() const {     // below which no plan is, with so many devices
    return std::max(critical_path, on_one_device / static_cast<double>(assignment.ranks));
  }
};

/// The best of: all on one device, stages of a pipeline (plans/choice/pipeline.h), and operators where they end first, the most
/// urgent one first; then operators move to other devices as long as that makes the simulated time less. An error of kind
/// `bad_input` if nothing that is tried fits into the memory.
Result<PlacedPlan> place_operators(const Graph& graph, const OwnOperatorsRequest& request);

}  // namespace lemma::plans
