#include "search/mixed_candidates.h"

#include <algorithm>
#include <numeric>

namespace lemma {

namespace {

/// Where the last directed step leads, or the original: from there on there are only equations.
const Graph& base_of(const Graph& original, const Candidate& candidate) {
  return candidate.stages.empty() ? original : candidate.stages.back();
}

}  // namespace

Result<MixedCandidates> MixedCandidates::of(const Graph& original, const Candidate& candidate,
                                            const OperatorCosts& costs, std::size_t most) {
  MixedCandidates result;
  if (most < 2) return result;
  result.base_ = &base_of(original, candidate);
  result.costs_ = &costs;
  LEMMA_ASSIGN_OR_RETURN(result.mixture_,
                         Mixture::of(*result.base_, candidate.graph, candidate.derivation));
  if (!result.mixture_ || result.mixture_->kinds().empty()) return result;
  LEMMA_RETURN_IF_ERROR(result.make_groups(most));
  return result;
}

Result<void> MixedCandidates::make_groups(std::size_t most) {
  const std::vector<Mixture::Kind>& kinds = mixture_->kinds();
  std::vector<bool> taken(kinds.size(), false);
  LEMMA_ASSIGN_OR_RETURN(std::optional<Candidate> without, with_kinds(taken));
  if (!without) return {};
  std::vector<double> savings;
  std::vector<std::optional<Candidate>> alone;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    taken[kind] = true;
    LEMMA_ASSIGN_OR_RETURN(std::optional<Candidate> candidate, with_kinds(taken));
    taken[kind] = false;
    savings.push_back(candidate ? without->cost.seconds - candidate->cost.seconds : 0);
    alone.push_back(std::move(candidate));
  }
  std::vector<std::size_t> order(kinds.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&savings](std::size_t a, std::size_t b) {
    return std::abs(savings[a]) > std::abs(savings[b]);
  });
  group_of_kind_.assign(kinds.size(), 0);
  std::vector<Candidate> graphs = {std::move(*without)};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t kind = order[i];
    const bool is_rest = groups_.size() + 2 >= most && i + 1 < order.size();
    if (is_rest) {
      for (std::size_t k = i; k < order.size(); ++k) {
        group_of_kind_[order[k]] = groups_.size();
        taken[order[k]] = true;
      }
      LEMMA_ASSIGN_OR_RETURN(std::optional<Candidate> rest, with_kinds(taken));
      if (!rest) return {};
      RewrittenPlaces places{"others", 0, graphs.front().cost.seconds - rest->cost.seconds, 0};
      for (std::size_t k = i; k < order.size(); ++k) places.count += kinds[order[k]].places;
      groups_.push_back(std::move(places));
      graphs.push_back(std::move(*rest));
      break;
    }
    if (!alone[kind]) return {};
    group_of_kind_[kind] = groups_.size();
    groups_.push_back({kinds[kind].text, kinds[kind].places, savings[kind], 0});
    graphs.push_back(std::move(*alone[kind]));
  }
  graphs_ = std::move(graphs);
  return {};
}

Result<std::optional<Candidate>> MixedCandidates::with(const std::vector<bool>& groups) const {
  std::vector<bool> kinds;
  for (const std::size_t group : group_of_kind_) kinds.push_back(groups[group]);
  return with_kinds(kinds);
}

Result<std::optional<Candidate>> MixedCandidates::with_kinds(const std::vector<bool>& kinds) const {
  LEMMA_ASSIGN_OR_RETURN(std::optional<Graph> graph, mixture_->graph(kinds));
  if (!graph) return std::nullopt;
  Candidate result{std::move(*graph), {}, {}, {}, {}};
  result.cost = cost_of(result.graph, *costs_);
  return result;
}

Result<std::map<std::string, std::size_t>> rules_needed(const Graph& original,
                                                        const Candidate& candidate) {
  Derivation derivation = candidate.derivation;
  LEMMA_ASSIGN_OR_RETURN(const auto pairs,
                         derivation.pairs(base_of(original, candidate), candidate.graph));
  LEMMA_ASSIGN_OR_RETURN(std::set<std::uint32_t> uses, derivation.reasons(pairs));
  for (std::uint32_t i = 0; i < derivation.uses().size(); ++i)
    if (derivation.uses()[i].refinement) uses.insert(i);
  std::map<std::string, std::size_t> result;
  for (const std::uint32_t use : uses)
    if (const Derivation::Use& applied = derivation.uses()[use]; !applied.is_of_copies())
      ++result[applied.use.substitution->name];
  return result;
}

}  // namespace lemma
