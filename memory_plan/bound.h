#pragma once
// What recomputation costs at least.

#include "memory_plan/problem.h"

namespace lemma::memory_plan {

/// A price of a byte at each place of an order, and the bound that follows from these prices.
struct PricedBound {
  double seconds = 0;
  std::vector<double> prices;  // by place of the order
};

/// No plan within the limit whose nodes run for the first time in this order takes less.
///
/// Between two places of the order that need a value, it is there all the time, or it is computed again. What is there
/// at a place beside what the node needs has room for the limit less the working set. The least that is computed again
/// is a linear program, whose dual has a price for each place: any prices give a bound, the sum over values and pairs of
/// places of the smaller one of the node's time and what its bytes cost in between, less what all room costs.
PricedBound priced_bound(const Problem& problem, const Sequence& order, Bytes limit,
                         int rounds = 400);

/// The same from given prices, which must not be negative: what a reader can check.
double bound_from_prices(const Problem& problem, const Sequence& order, Bytes limit,
                         const std::vector<double>& prices);

}  // namespace lemma::memory_plan
