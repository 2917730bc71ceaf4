#include "search/layout_choice.h"

#include <algorithm>
#include <utility>

namespace lemma {

namespace {

/// What a graph has to save to be preferred.
constexpr double least_saved = 0.001;

double somewhat_less_than(double seconds) { return (1 - least_saved) * seconds; }

}  // namespace

Result<bool> LayoutChoice::improves(const Round& round, const Graph& original, double seconds) {
  if (!round.laid_out) return false;
  if (!bound_) {
    LEMMA_ASSIGN_OR_RETURN(bound_, price(original, seconds));
    if (bound_) bound_ = somewhat_less_than(*bound_);
  }
  return bound_ && round.laid_out_seconds < *bound_;
}

void LayoutChoice::keep(Candidate candidate, double seconds_laid_out) {
  found_ = std::move(candidate);
  bound_ = seconds_laid_out;
}

Result<void> LayoutChoice::join(std::vector<Candidate>& candidates, double seconds) {
  if (!found_) return {};
  for (const Candidate& candidate : candidates) {
    LEMMA_ASSIGN_OR_RETURN(const std::optional<double> other, price(candidate.graph, seconds));
    if (!other || *bound_ >= somewhat_less_than(*other)) return {};
  }
  candidates.push_back(std::move(*found_));
  found_.reset();
  return {};
}

Result<bool> LayoutChoice::choose(const Candidate& original, Candidate& best, double seconds) {
  if (is_needless()) return false;
  LEMMA_ASSIGN_OR_RETURN(const std::optional<double> before, price(original.graph, seconds));
  LEMMA_ASSIGN_OR_RETURN(const std::optional<double> now, price(best.graph, seconds));
  if (!before || !now) return false;
  if (found_ && *bound_ < somewhat_less_than(std::min(*before, *now))) {
    best = std::move(*found_);
    return true;
  }
  if (*before < somewhat_less_than(*now)) best = original;
  return false;
}

}  // namespace lemma
