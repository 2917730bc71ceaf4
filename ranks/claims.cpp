#include "ranks/claims.h"

#include <algorithm>

namespace lemma::ranks {

std::vector<std::size_t> Claims::take(const Claim& claim) {
  const std::lock_guard lock(mutex_);
  std::vector<std::size_t> free;
  for (std::size_t i = 0; i < claim.wanted.size(); ++i)
    if (!taken_.contains(claim.wanted[i])) free.push_back(i);
  if (!free.empty()) {
    // Less and less at once, so that all come to an end at about the same time.
    free.resize(std::max<std::size_t>(1, free.size() / std::max<std::size_t>(1, claim.share)));
    for (const std::size_t i : free) taken_.insert(claim.wanted[i]);
    return free;
  }
  for (std::size_t i = 0; i < claim.ahead.size(); ++i)
    if (taken_.insert(claim.ahead[i]).second) return {claim.wanted.size() + i};
  return {};
}

}  // namespace lemma::ranks
