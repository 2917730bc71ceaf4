#pragma once
// Exact extraction by answer set programming: the program clasp (Debian's package clasp) with
// core-guided optimization. A class is done once its chosen node's classes are; that nothing is done
// by way of itself is what the semantics of answer sets say, so cycles need no constraints.

#include "egraph/exact/outcome.h"

namespace lemma::exact {

/// clasp is installed.
bool answer_sets_available();

/// Seeks the cheapest selection below `upper_bound`. Costs that, divided by their greatest common
/// divisor, do not fit clasp's 32 bits are rounded down: then the bound is a little low, and the
/// selection a proved optimum only if the bound is its cost.
Outcome solve_by_answer_sets(const Problem& problem, Cost upper_bound, const Limit& limit);

}  // namespace lemma::exact
