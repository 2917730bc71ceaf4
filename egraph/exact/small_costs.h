#pragma once
// Costs for solvers whose numbers are small.

#include <optional>

#include "egraph/exact/problem.h"

namespace lemma::exact {

/// cost = unit * of_node, for each node; or, where that needs too many bits, rounded down to it.
struct SmallCosts {
  Cost unit = 1;
  bool exact = true;
  std::vector<std::int64_t> of_node;
};

/// The costs divided by their greatest common divisor. Nothing if a cost needs more than `bits`
/// bits even so.
std::optional<SmallCosts> small_costs(const Problem& problem, int bits);

/// The same, and where it gives nothing, rounded down to `bits` bits.
SmallCosts rounded_costs(const Problem& problem, int bits);

/// The greatest b such that unit * b <= cost.
Cost divide_down(Cost cost, Cost unit);

}  // namespace lemma::exact
