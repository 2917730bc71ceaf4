#pragma once
// Improving a selection by exchanging nodes; see extraction.h.

#include <span>
#include <vector>

#include "egraph/egraph.h"

namespace lemma {

/// For each class the node that costs least as a tree over classes that are not `free` (by class;
/// may be empty); none for free classes and those that cannot be computed. Without cycles.
std::vector<ENodeId> cheapest_trees(const EGraph& egraph, const std::vector<double>& node_cost,
                                    const std::vector<char>& free);

struct LocalSearchLimits {
  double time_limit_seconds = 10;
  std::size_t max_passes = 20;
};

/// A selection that costs at most what `start` does; `start` must be without cycles.
std::vector<ENodeId> search_locally(const EGraph& egraph, std::span<const ClassId> roots,
                                    const std::vector<double>& node_cost,
                                    std::vector<ENodeId> start, const LocalSearchLimits& limits);

}  // namespace lemma
