#include "search/evaluated_choice.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

namespace lemma {

namespace {

/// The part of a graph's time that places have to save together to be worth making.
constexpr double least_saving = 0.001;

Result<std::vector<Cost>> evaluate(const std::vector<Candidate>& candidates,
                                   const ChoiceOptions& options) {
  std::vector<const Graph*> graphs;
  for (const Candidate& candidate : candidates) graphs.push_back(&candidate.graph);
  options.say(graphs.size());
  return options.evaluator.evaluate(graphs);
}

std::size_t index_of_least(const std::vector<Cost>& costs) {
  const auto least = std::min_element(costs.begin(), costs.end(), [](const Cost& a, const Cost& b) {
    return a.seconds < b.seconds;
  });
  return static_cast<std::size_t>(least - costs.begin());
}

/// The graph of all groups of places that gain by themselves, which are recorded. Nothing: it is one that was
/// evaluated.
Result<std::optional<Candidate>> what_pays(const MixedCandidates& mixed,
                                           std::span<const Cost> costs,
                                           std::vector<RewrittenPlaces>& recorded) {
  if (costs.empty()) return std::nullopt;
  std::vector<bool> pays;
  for (std::size_t i = 1; i < costs.size(); ++i) {
    RewrittenPlaces& places = recorded.emplace_back(mixed.groups()[i - 1]);
    const double saving = costs[0].seconds - costs[i].seconds;
    // Infinitely much is what a graph costs that cannot be run.
    if (std::isfinite(saving)) places.measured_saving = saving;
    pays.push_back(std::isfinite(saving) && saving > least_saving * costs[0].seconds);
  }
  if (std::count(pays.begin(), pays.end(), true) < 2) return std::nullopt;
  return mixed.with(pays);
}

/// The chosen one against the graph of the places that pay. True: the latter is cheaper, or one with only some of the
/// rewrites had been chosen and the original is not.
Result<bool> compare_last(EvaluatedChoice& choice, const Candidate& original, Candidate paying,
                          bool is_mixed, const ChoiceOptions& options) {
  std::vector<Candidate> last = {std::move(choice.candidate), std::move(paying)};
  if (choice.is_other) last.insert(last.begin(), original);
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Cost> costs, evaluate(last, options));
  const std::size_t winner = index_of_least(costs);
  choice.is_other = winner != 0;
  choice.candidate = std::move(last[winner]);
  return winner + 1 == last.size() || (is_mixed && winner != 0);
}

}  // namespace

Result<EvaluatedChoice> choose_evaluated(const Candidate& original,
                                         std::vector<Candidate> candidates,
                                         const OperatorCosts& costs, const ChoiceOptions& options) {
  const Candidate cheapest = candidates.front();
  const std::size_t affordable = options.evaluator.affordable(original.cost);
  LEMMA_ASSIGN_OR_RETURN(MixedCandidates mixed,
                         MixedCandidates::of(original.graph, cheapest, costs, affordable));
  candidates.insert(candidates.begin(), original);
  const std::size_t first_mixed = candidates.size();
  for (const Candidate& candidate : mixed.graphs()) candidates.push_back(candidate);
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Cost> evaluated, evaluate(candidates, options));
  EvaluatedChoice choice;
  choice.candidates = candidates.size();
  const std::size_t least = index_of_least(evaluated);
  bool is_mixed = least >= first_mixed;
  choice.is_other = least != 0;
  choice.candidate = std::move(candidates[least]);
  LEMMA_ASSIGN_OR_RETURN(
      std::optional<Candidate> paying,
      what_pays(mixed, std::span<const Cost>(evaluated).subspan(first_mixed), choice.places));
  if (paying && options.evaluator.affordable(original.cost) < 2) {
    choice.is_other = is_mixed = true;  // each part gained
    choice.candidate = std::move(*paying);
  } else if (paying) {
    LEMMA_ASSIGN_OR_RETURN(is_mixed,
                           compare_last(choice, original, std::move(*paying), is_mixed, options));
  }
  if (!is_mixed) return choice;
  // Why the candidate equals the original is why what lies between them does.
  choice.candidate.derivation = cheapest.derivation;
  choice.candidate.stages = cheapest.stages;
  if (!options.explain) return choice;
  LEMMA_ASSIGN_OR_RETURN(choice.candidate.rules_used,
                         rules_needed(original.graph, choice.candidate));
  return choice;
}

}  // namespace lemma
