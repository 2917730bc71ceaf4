#pragma once
// Stitching: groups of computations that become one operator of several phases, so that what they hand to each other
// stays in memory of the task, and one call runs them all (Zheng et al., "FusionStitching: boosting memory intensive
// computations for deep learning workloads", sections 4 and 5).

#include "backend/lower/computation.h"

namespace lemma::backend {

/// Which schemes there are; the thread scheme is a pass of its own (fuse.h).
struct StitchOptions {
  bool packing = true;  // computations that do not depend on each other become one group of tasks
  bool warp = true;     // Stitching::warp
  bool block = true;    // Stitching::block
  std::size_t patterns_per_vertex = 3;
  std::size_t beam_width = 3;

  static StitchOptions none() { return {false, false, false}; }
};

/// One way to group the computations of a graph (ComputationGraph::groups).
struct StitchPlan {
  std::vector<Group> groups;
  double seconds = 0;  // by the delta evaluator: of all operators, one after the other
};

/// Plans, the best first; the last one groups nothing. Patterns are found bottom-up: those that begin with a
/// computation are made of it and of patterns that begin with its readers, and the best few are kept. A beam over all
/// computations puts them together, and neighbouring or independent groups are joined while that pays. Where tasks have the times
/// of their source, there are also plans without packing.
Result<std::vector<StitchPlan>> stitch_plans(const ComputationGraph& graph,
                                             const VirtualDevice& device,
                                             const StitchOptions& options);

}  // namespace lemma::backend
