#include "search/layout_choice.h"

#include <algorithm>
#include <utility>

namespace lemma {

namespace {

/// What a graph has to save to be preferred.
constexpr double least_saved = 0.001;

double somewhat_less_than(double seconds) { return (1 - least_saved) * seconds; }

}  // namespace

Result<bool> improves(LaidOutCandidate& known, const Round& round, const Graph& original,
                      const LayoutPrice& price) {
  if (!round.laid_out) return false;
  if (!known.bound) {
    LEMMA_ASSIGN_OR_RETURN(known.bound, price(original));
    if (known.bound) known.bound = somewhat_less_than(*known.bound);
  }
  return known.bound && round.laid_out_seconds < *known.bound;
}

Result<void> join(LaidOutCandidate known, std::vector<Candidate>& candidates,
                  const LayoutPrice& price) {
  if (!known.candidate) return {};
  for (const Candidate& candidate : candidates) {
    LEMMA_ASSIGN_OR_RETURN(const std::optional<double> other, price(candidate.graph));
    if (!other || *known.bound >= somewhat_less_than(*other)) return {};
  }
  candidates.push_back(std::move(*known.candidate));
  return {};
}

Result<bool> choose_laid_out(LaidOutCandidate known, const Candidate& original, Candidate& best,
                             const LayoutPrice& price) {
  LEMMA_ASSIGN_OR_RETURN(const std::optional<double> before, price(original.graph));
  LEMMA_ASSIGN_OR_RETURN(const std::optional<double> now, price(best.graph));
  if (!before || !now) return false;
  if (known.candidate && *known.bound < somewhat_less_than(std::min(*before, *now))) {
    best = std::move(*known.candidate);
    return true;
  }
  if (*before < somewhat_less_than(*now)) best = original;
  return false;
}

}  // namespace lemma
