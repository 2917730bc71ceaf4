#pragma once
// Plans within a limit by evicting: what is needed late, is cheap to compute again and takes much memory goes first.

#include <optional>

#include "memory_plan/problem.h"

namespace lemma::memory_plan {

/// How values are compared when room has to be made: the one with the least time to compute it again for what its memory
/// costs until it is needed goes.
struct EvictionRule {
  /// The price of a byte at each place of the order; empty: all places cost the same.
  std::vector<double> prices = {};
  /// A factor of each value's time; empty: 1.
  std::vector<double> weights = {};
  /// Memory counts without the time until the value is needed.
  bool ignores_distance = false;
};

/// Nodes run for the first time in the given order, values that are not there when they are needed are computed again,
/// and values are evicted when the limit is reached. Nothing: at some place everything there is needed at once.
std::optional<Sequence> sequence_by_eviction(const Problem& problem, const Sequence& order,
                                             Bytes limit, const EvictionRule& rule);

/// Without runs that are not needed: of values that may be kept instead within the limit, the most expensive first. The
/// sequence has to fit.
Sequence without_needless_runs(const Problem& problem, Sequence sequence, Bytes limit);

}  // namespace lemma::memory_plan
