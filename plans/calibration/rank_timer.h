#pragma once
// How long something takes that all ranks do at once.

#include <chrono>
#include <functional>
#include <string>

#include "base/result.h"
#include "plans/on_ranks/communicator.h"

namespace lemma::plans {

/// Ranks agree on everything: on the number of repeats, on times, and on whether there is time left.
class RankTimer {
 public:
  /// `base`: the ranks as they were started, over which they agree. No measurement begins after `limit_seconds`.
  RankTimer(Communicator& base, double limit_seconds);

  /// The median over some repeats of what the slowest rank takes for one of them. Several are done without a pause where one is
  /// short. All ranks call it; an error of one of them in the first repeat is an error of all.
  Result<double> seconds(const std::function<Result<void>()>& act);
  /// Whether the time is over, as the first rank sees it.
  Result<bool> is_over();

 private:
  /// The largest of the ranks' values.
  Result<double> largest(double own);

  Communicator& base_;
  Group all_;
  std::chrono::steady_clock::time_point end_;
};

}  // namespace lemma::plans
