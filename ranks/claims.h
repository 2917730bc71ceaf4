#pragma once
// Who asks first has a piece of work: kept by the first rank.

#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "ranks/ranks.h"

namespace lemma::ranks {

class Claims {
 public:
  /// See Ranks::claim(). Threads may call it at the same time.
  std::vector<std::size_t> take(const Claim& claim);

 private:
  std::mutex mutex_;
  std::unordered_set<std::string> taken_;
};

}  // namespace lemma::ranks
