#pragma once
// All graphs that one use of a rule makes of a graph, with their costs, none of them built.
//
// A graph is replaced by one that refines it, so that a rule with `=>` needs no defined left side.
//
// The graph is loaded into an e-graph in which nothing is ever merged, so that the matching is the
// one of saturation. The right sides are added beside the graph; what would come into use and fall
// out of use is counted, and the graph that would result gets a hash of its structure.

#include <functional>
#include <span>
#include <vector>

#include "costmodel/operator_costs.h"
#include "search/rewrite.h"

namespace lemma {

struct Neighbor {
  Rewrite rewrite;
  double cost = 0;         // of the graph that it makes
  std::uint64_t hash = 0;  // of its structure: equal for equal graphs
};

struct Neighborhood {
  double cost = 0;  // of the graph itself
  std::uint64_t hash = 0;
  std::vector<Neighbor> neighbors;  // in order of rules, then of places
  bool complete = false;            // not interrupted
};

struct NeighborhoodOptions {
  std::size_t match_limit = 10'000;  // places of one rule; more are not looked at
  /// Leave out what is an equation there, and so a matter of saturation.
  bool only_refinements = false;
  std::function<bool()> interrupted;
};

/// Neighbors that cost at least `bound` are left out; so are uses of rules that only rewrite what
/// depends on constants alone, which is computed at build time anyway.
Neighborhood neighborhood(const Graph& graph, std::span<const CompiledRule> rules,
                          const OperatorCosts& costs, double bound,
                          const NeighborhoodOptions& options);

}  // namespace lemma
