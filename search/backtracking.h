#pragma once
// TASO's search (Jia et al., SOSP 2019, section 6): best first over whole graphs. The cheapest graph
// that is waiting is taken up; every rule is applied at every place of it; the graphs that come of
// this wait in turn, unless they have been met before or cost more than alpha times the best.

#include "search/neighborhood.h"
#include "search/optimize.h"

namespace lemma {

struct BacktrackingOptions {
  double alpha = 1.05;
  std::size_t budget = 1000;  // graphs taken up
  std::size_t most_waiting = 100'000;
  std::size_t memory_limit_bytes = 1'000'000'000;  // of graphs kept, estimated
  std::size_t match_limit = 10'000;                // of one rule in one graph
  bool only_refinements = false;                   // leave out equations
  std::function<bool()> interrupted;
};

struct BacktrackingResult {
  Graph graph;  // the best
  double cost_before = 0, cost = 0;
  /// A step on the way from the original to the best: what was done to which graph.
  struct Step {
    std::shared_ptr<const Graph> graph;
    Rewrite rewrite;
  };
  std::vector<Step> path;
  std::vector<CheaperGraph> cheaper_graphs;  // from the beginning of the backtracking
  std::size_t graphs_taken_up = 0, graphs_met = 0;
  std::string_view stop_reason;  // "exhausted", "budget", "memory", "time"
};

/// Deterministic unless interrupted; the best so far is there then.
Result<BacktrackingResult> backtrack(const Graph& graph, std::span<const CompiledRule> rules,
                                     const OperatorCosts& costs,
                                     const BacktrackingOptions& options);

}  // namespace lemma
