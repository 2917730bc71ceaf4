#pragma once
// Exact extraction by integer programming: the program cbc (Debian's package coinor-cbc). Cycles are
// banned when they turn up in an answer, and the program is run again.

#include "egraph/exact/outcome.h"

namespace lemma::exact {

/// cbc is installed.
bool integer_programs_available();

/// Seeks the cheapest selection below `upper_bound`. cbc calculates in floating point: it is asked
/// only where costs, divided by their greatest common divisor, are integers below 2^24, far above
/// its tolerances, and bounds are rounded up to integers.
Outcome solve_by_integer_program(const Problem& problem, Cost upper_bound, const Limit& limit);

}  // namespace lemma::exact
