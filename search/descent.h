#pragma once
// The quick way to a cheaper graph: each rule wherever it saves something, at many places at a time.

#include "search/backtracking.h"

namespace lemma {

struct DescentOptions {
  std::size_t most_rounds = 30;
  std::size_t match_limit = 10'000;  // of one rule in one graph
  /// Uses of the first round times nodes of the graph; where there are more nothing is done.
  std::size_t most_copied_nodes = 60'000;
  std::function<bool()> interrupted = {};
};

/// Applies in each round the uses of rules that save something, those that save most first, as far as they do not take
/// nodes that another one has replaced. Ends where none saves anything. Deterministic unless interrupted; the graph so
/// far is there then. The result's path has one step for each use.
BacktrackingResult descend(const Graph& graph, std::span<const CompiledRule> rules,
                           const OperatorCosts& costs, const DescentOptions& options);

}  // namespace lemma
