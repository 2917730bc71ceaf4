#pragma once
// Exact plans of small problems: order and recomputation together, and the order that needs the least memory.

#include <optional>

#include "memory_plan/problem.h"

namespace lemma::memory_plan {

/// Problems with more nodes are not solved exactly.
inline constexpr std::size_t most_exact_nodes = 64;

enum class Answer : std::uint8_t {
  optimal,
  impossible,  // no plan fits
  given_up,    // too many states
};

struct ExactOutcome {
  Answer answer = Answer::given_up;
  Sequence sequence = {};    // where it is optimal
  double seconds_bound = 0;  // no plan takes less
  Bytes bytes_bound = 0;     // of least_memory_order: no order needs less
  std::uint64_t states = 0;  // that were looked at
};

/// The plan that takes the least time within the limit. A* over sets of values that are there: the estimate is the time of
/// all nodes that still have to run because their values are not there. Freeing a value costs nothing.
ExactOutcome exact_plan(const Problem& problem, Bytes limit, std::uint64_t most_states);

/// The order that needs the least memory where each node runs once: best-first search over sets of nodes that have run,
/// by the most memory on the way.
ExactOutcome least_memory_order(const Problem& problem, std::uint64_t most_states);

}  // namespace lemma::memory_plan
