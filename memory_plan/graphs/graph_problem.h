#pragma once
// Graphs as problems of memory.

#include <vector>

#include "base/result.h"
#include "costmodel/operator_costs.h"
#include "ir/graph.h"
#include "memory_plan/problem.h"

namespace lemma::memory_plan {

/// The operations of a graph. Inputs and constants are there all the time and not counted.
struct GraphProblem {
  Problem problem;
  std::vector<NodeId> nodes;  // of the graph, by number of the problem's node
};

/// Times are those of the costs. An error: a size is not fixed, or a node is not known.
Result<GraphProblem> problem_of(const Graph& graph, const OperatorCosts& costs);

/// The graph's nodes in the order of a sequence.
std::vector<NodeId> nodes_of(const GraphProblem& problem, const Sequence& sequence);

}  // namespace lemma::memory_plan
