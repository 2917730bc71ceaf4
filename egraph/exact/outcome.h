#pragma once
// What one attempt at a problem found out.

#include <atomic>
#include <chrono>
#include <optional>

#include "egraph/exact/problem.h"

namespace lemma::exact {

using Clock = std::chrono::steady_clock;

/// When to stop: at a time, or when someone says so.
struct Limit {
  Clock::time_point deadline = Clock::time_point::max();
  const std::atomic<bool>* stop = nullptr;

  bool reached() const { return (stop != nullptr && stop->load()) || Clock::now() >= deadline; }
  double seconds_left() const {
    return std::chrono::duration<double>(deadline - Clock::now()).count();
  }
};

struct Outcome {
  /// The best selection that was found; nothing if none cheaper than the given bound was.
  std::optional<Selection> best;
  /// No selection costs less, as far as those are concerned that cost less than the given bound.
  std::optional<Cost> lower_bound;
  /// `best`, or if there is none the given bound, is the optimum.
  bool proved = false;
};

}  // namespace lemma::exact
