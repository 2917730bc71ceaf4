#pragma once
// Orders in which each node runs once, for the least memory; of problems of any size.

#include "memory_plan/problem.h"

namespace lemma::memory_plan {

struct OrderOutcome {
  Sequence order;
  Bytes peak = 0;
  Bytes bound = 0;  // no order needs less
  bool is_optimal() const { return peak == bound; }
};

/// Small problems are solved exactly while that takes no more than `most_states` states. Others by beams: sets of nodes
/// that have run, of equal size, of which the best are kept. The bound is then the largest working set.
OrderOutcome low_memory_order(const Problem& problem, std::uint64_t most_states = 200'000);

}  // namespace lemma::memory_plan
