#include "search/candidate.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "facts/same_structure.h"

namespace lemma {

bool is_better(const GraphCost& cost, const GraphCost& than) {
  constexpr double rounding = 1e-9;
  if (cost.seconds < (1 - rounding) * than.seconds) return true;
  return cost.seconds <= (1 + rounding) * than.seconds && cost.operators < than.operators;
}

namespace {

/// Takes over why each stage equals the one before it; uses of the rules that merge terms for that.
Result<std::map<std::string, std::size_t>> adopt(Candidate& candidate, Derivation& derivation,
                                                 const std::vector<Graph>& stages) {
  std::set<std::uint32_t> reasons;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const Graph& before = i == 0 ? candidate.graph : stages[i - 1];
    LEMMA_ASSIGN_OR_RETURN(const auto pairs, derivation.pairs(before, stages[i]));
    LEMMA_ASSIGN_OR_RETURN(const auto some, derivation.reasons(pairs));
    reasons.insert(some.begin(), some.end());
  }
  std::map<std::string, std::size_t> merging;
  for (const std::uint32_t reason : reasons)
    if (const Derivation::Use& use = derivation.uses()[reason]; !use.is_of_copies())
      ++merging[use.use.substitution->name];
  LEMMA_RETURN_IF_ERROR(candidate.derivation.adopt(derivation, reasons, {}));
  return merging;
}

}  // namespace

Result<void> extend(Candidate& candidate, Graph graph, std::optional<Derivation>& derivation,
                    const std::map<std::string, std::size_t>& rules_used, std::vector<Graph> stages,
                    const OperatorCosts& costs) {
  std::map<std::string, std::size_t> merging;  // uses of rules
  if (derivation) {
    stages.push_back(graph);
    LEMMA_ASSIGN_OR_RETURN(merging, adopt(candidate, *derivation, stages));
    stages.pop_back();
  }
  // Where the next saturation begins is a stage too, if this was no equation.
  if (!stages.empty()) {
    candidate.stages.push_back(candidate.graph);
    std::move(stages.begin(), stages.end(), std::back_inserter(candidate.stages));
    candidate.stages.push_back(graph);
  }
  candidate.graph = std::move(graph);
  candidate.cost = cost_of(candidate.graph, costs);
  for (const auto& [rule, count] : rules_used) candidate.rules_used[rule] += count;
  for (const auto& [rule, count] : merging)
    if (!rules_used.contains(rule)) candidate.rules_used[rule] += count;
  return {};
}

void CandidateList::add(const Candidate& candidate) {
  const auto is_same = [&candidate](const Candidate& other) {
    return check_same_structure(candidate.graph, other.graph).has_value();
  };
  if (std::any_of(candidates_.begin(), candidates_.end(), is_same)) return;
  const auto place = std::upper_bound(
      candidates_.begin(), candidates_.end(), candidate.cost.seconds,
      [](double cost, const Candidate& other) { return cost < other.cost.seconds; });
  candidates_.insert(place, candidate);
  if (candidates_.size() > most_) candidates_.pop_back();
}

}  // namespace lemma
