#pragma once
// Operators over all steps of a recurrence in place of the steps written out. The rules that make them are applied one
// after the other, in the order of the steps, as long as one fits: an e-graph would hold an operator for each interval
// of steps, and none of them saves anything until they all stand together.

#include <functional>
#include <span>
#include <vector>

#include "search/backtracking.h"

namespace lemma {

/// Lists of rules by what they are for. Those that say which side is meant to replace the other one count.
struct FoldingRules {
  std::vector<Substitution>
      preparing;                      // make what the next ones look for: terms of their left sides
  std::vector<Substitution> folding;  // make recurrent operators, and join or exchange them
  std::vector<Substitution> finishing;  // say how results are read off a recurrent operator
};

FoldingRules folding_rules(std::span<const Substitution> rules);

struct FoldedRecurrences {
  Graph graph;
  std::vector<CompiledRule> rules;             // which the path speaks of
  std::vector<BacktrackingResult::Step> path;  // empty: nothing fits
};

/// Applies the first two lists, and if a recurrence comes of it, then the last one. Deterministic unless interrupted.
/// Of several places the first in the graph is taken.
Result<FoldedRecurrences> fold_recurrences(const Graph& graph, const FoldingRules& rules,
                                           const OperatorCosts& costs,
                                           const std::function<bool()>& interrupted);

}  // namespace lemma
