#pragma once
// The loop schedules that are tried for a computation. Many are alike in their source; whoever plans them sees that.

#include <vector>

#include "backend/lower/computation.h"

namespace lemma::backend {

/// Ways to store what the computation reads, without its blocks; the first one is none.
std::vector<LoopSchedule> layout_candidates(const Computation& computation);
/// Blocks whose sums have room in so many registers.
std::vector<LoopSchedule> block_candidates(std::int64_t registers);
/// The schedule with one field changed: the order of loops, what is asked for ahead, turns, and blocks that are a bit larger or
/// smaller.
std::vector<LoopSchedule> neighbours(const LoopSchedule& schedule);

}  // namespace lemma::backend
