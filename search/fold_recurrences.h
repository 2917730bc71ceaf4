#pragma once
// Operators over all steps of a recurrence in place of the steps written out. The rules that make them are applied one
// after the other, in the order of the steps, as long as one fits: an e-graph would hold an operator for each interval
// of steps, and none of them saves anything until they all stand together.

#include <functional>
#include <span>
#include <vector>

#include "search/backtracking.h"

namespace lemma {

/// Rules by their roles for recurrences; of those for a form, those whose form a rule of the second list looks for.
struct RecurrenceRules {
  std::vector<Substitution> form, recurrence, results;
};
RecurrenceRules recurrence_rules(std::span<const Substitution> rules);

struct FoldedRecurrences {
  Graph graph;
  std::vector<CompiledRule> rules;             // which the path speaks of
  std::vector<BacktrackingResult::Step> path;  // empty: nothing fits
};

/// Applies the first two lists, and if a recurrence comes of it, then the last one. Deterministic unless interrupted.
/// Of several places the first in the graph is taken.
Result<FoldedRecurrences> fold_recurrences(const Graph& graph, const RecurrenceRules& rules,
                                           const OperatorCosts& costs,
                                           const std::function<bool()>& interrupted);

}  // namespace lemma
