#pragma once
// Timing of several things in turn, in random order, so that what disturbs one disturbs the others as much.

#include <functional>
#include <vector>

#include "base/result.h"

namespace lemma::backend {

struct RoundOptions {
  int rounds = 12;
  double block_seconds = 5e-4;    // what is short runs several times in a round
  double seconds = 60;            // after which no new round begins
  int least_rounds = 1;           // that are done all the same
  double hard_limit_seconds = 0;  // after which no round begins even so; 0: none
  /// The clock is the processor time of this thread, which other programs do not count in.
  bool one_thread = false;
};

/// Seconds of one run, by thing and by round. Each has run before. An error is that of a run.
Result<std::vector<std::vector<double>>> time_in_rounds(
    const std::vector<std::function<Result<void>()>>& runs, const RoundOptions& options);

}  // namespace lemma::backend
