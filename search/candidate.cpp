#include "search/candidate.h"

#include <algorithm>

#include "ir/same_structure.h"

namespace lemma {

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
