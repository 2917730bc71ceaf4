#pragma once
// What a schedule takes on its virtual device, by the times of its tasks and the costs of the device: nothing is run.

#include "backend/program.h"

namespace lemma::backend {

struct Simulation {
  double seconds =
      0;  // from the first task's beginning to the last one's end, with what comes between
  double busy_seconds = 0;     // of all units together: within tasks
  double outside_seconds = 0;  // while no unit runs a task

  /// The part of the units' time within tasks.
  double utilisation(std::uint32_t units) const;
};

/// One launch, then units copy the weights that they keep and run their tasks as soon as the waits have passed.
Simulation simulate(const TaskProgram& program);

/// Each operator alone, with the kernel that ends first on all units, and `seconds_between` before each: what a
/// runtime does that starts one operator after the other.
Simulation simulate_operator_by_operator(const OperatorGraph& graph, const VirtualDevice& device,
                                         double seconds_between);

}  // namespace lemma::backend
