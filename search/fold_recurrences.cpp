#include "search/fold_recurrences.h"

#include <algorithm>
#include <limits>
#include <set>

#include "rule_language/rule_roles.h"

namespace lemma {
namespace {

/// Rules that are applied to a graph as long as one fits, and none makes a graph that was there before.
class Folder {
 public:
  Folder(FoldedRecurrences& result, const OperatorCosts& costs,
         const std::function<bool()>& interrupted)
      : result_(result), costs_(costs), interrupted_(interrupted) {}

  Result<void> apply(std::span<const Substitution> rules) {
    LEMMA_ASSIGN_OR_RETURN(const std::vector<CompiledRule> compiled, compile_rules(rules));
    const auto first = static_cast<std::uint32_t>(result_.rules.size());
    result_.rules.insert(result_.rules.end(), compiled.begin(), compiled.end());
    while (!interrupted_()) {
      // Places are found in order; a few are enough to have one that may be used.
      constexpr std::size_t places = 4;
      const Neighborhood reachable =
          neighborhood(result_.graph, compiled, costs_, std::numeric_limits<double>::infinity(),
                       {places, false, interrupted_});
      seen_.insert(reachable.hash);
      const auto next =
          std::find_if(reachable.neighbors.begin(), reachable.neighbors.end(),
                       [this](const Neighbor& neighbor) { return !seen_.contains(neighbor.hash); });
      if (next == reachable.neighbors.end()) break;
      Rewrite rewrite = next->rewrite;
      LEMMA_ASSIGN_OR_RETURN(Graph graph,
                             rewritten(result_.graph, compiled[rewrite.rule], rewrite));
      rewrite.rule += first;
      result_.path.push_back({std::make_shared<const Graph>(std::move(result_.graph)), rewrite});
      result_.graph = std::move(graph);
    }
    return {};
  }

 private:
  FoldedRecurrences& result_;
  const OperatorCosts& costs_;
  const std::function<bool()>& interrupted_;
  std::set<std::uint64_t> seen_;  // hashes of graphs
};

}  // namespace

RecurrenceRules recurrence_rules(std::span<const Substitution> rules) {
  RecurrenceRules result;
  std::vector<const Substitution*> recurrences;
  for (const Substitution& rule : rules)
    if (has_role(rule, RuleRole::recurrence)) recurrences.push_back(&rule);
  for (const Substitution& rule : rules) {
    if (has_role(rule, RuleRole::recurrence_form) && makes_form(rule, recurrences))
      result.form.push_back(rule);
    if (has_role(rule, RuleRole::recurrence)) result.recurrence.push_back(rule);
    if (has_role(rule, RuleRole::recurrence_results)) result.results.push_back(rule);
  }
  return result;
}

Result<FoldedRecurrences> fold_recurrences(const Graph& graph, const RecurrenceRules& rules,
                                           const OperatorCosts& costs,
                                           const std::function<bool()>& interrupted) {
  FoldedRecurrences result{graph, {}, {}};
  Folder folder(result, costs, interrupted);
  LEMMA_RETURN_IF_ERROR(folder.apply(rules.form));
  const std::size_t prepared = result.path.size();
  LEMMA_RETURN_IF_ERROR(folder.apply(rules.recurrence));
  if (result.path.size() == prepared) return FoldedRecurrences{graph, {}, {}};
  LEMMA_RETURN_IF_ERROR(folder.apply(rules.results));
  return result;
}

}  // namespace lemma
