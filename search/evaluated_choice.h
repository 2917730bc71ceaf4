#pragma once
// The choice among candidates by an evaluator, which knows better than sums of costs what a graph takes.

#include <cstddef>
#include <functional>
#include <vector>

#include "costmodel/graph_cost.h"
#include "costmodel/operator_costs.h"
#include "search/candidate.h"
#include "search/mixed_candidates.h"

namespace lemma {

struct ChoiceOptions {
  const GraphEvaluator& evaluator;
  bool explain = false;  // the rules that what was chosen needs
  std::function<void(std::size_t)>
      say;  // called with the number of graphs before they are evaluated
};

struct EvaluatedChoice {
  Candidate candidate;
  bool is_other = false;       // than the original
  std::size_t candidates = 0;  // that were evaluated, the original among them
  /// Where the cheapest candidate differs from the original, if the evaluator had the time to tell which places pay.
  std::vector<RewrittenPlaces> places;
};

/// The one of the candidates, the original among them, which the evaluator finds the cheapest; of equal ones the
/// original, then the cheapest as a sum. If it has the time, it also compares graphs in which only some rewrites are
/// made, and at last the graph of those that pay. There is at least one candidate, and the first costs least as a sum.
Result<EvaluatedChoice> choose_evaluated(const Candidate& original,
                                         std::vector<Candidate> candidates,
                                         const OperatorCosts& costs, const ChoiceOptions& options);

}  // namespace lemma
