#pragma once
// Assignment of pieces of work to ranks, first come, first served. The first rank keeps it.

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
