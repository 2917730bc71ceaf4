#pragma once
// Plans within a limit of memory: order and recomputation, by what fits the size of the problem.

#include <string_view>

#include "memory_plan/problem.h"

namespace lemma::memory_plan {

/// How a plan was found.
enum class Method : std::uint8_t { order_alone, exact, chain, eviction };
std::string_view name(Method method);

struct PlanOptions {
  std::uint64_t most_exact_states = 200'000;
  /// Tries of the local search: plans with other weights of values.
  int rounds = 200;
  /// Steps of plans that the local search looks at in all, so that large problems have fewer rounds.
  std::uint64_t most_steps = 150'000;
};

/// A fast look: few states, no local search.
inline constexpr PlanOptions quick_look = {5'000, 0, 0};

struct Outcome {
  Sequence sequence;  // empty: none was found that fits
  Bytes peak = 0;
  double seconds = 0;
  Method method = Method::order_alone;
  /// No plan takes less; where `bounds_order`, no plan in which nodes run for the first time in `order`.
  double seconds_bound = 0;
  bool bounds_order = false;
  Sequence order;
  /// No plan needs less memory, with however much recomputation.
  Bytes least_bytes = 0;
  bool is_found() const { return !sequence.empty(); }
  bool is_optimal() const;
};

/// The cheapest plan that is found within the limit. Each has been replayed. The same problem gives the same plan: all
/// limits of the search are numbers of states and of steps.
Outcome plan_within(const Problem& problem, Bytes limit, const PlanOptions& options = {});

/// The least limit within which quick looks find a plan, to a hundredth.
Bytes least_limit(const Problem& problem);

}  // namespace lemma::memory_plan
