#pragma once
// Own exact search: reduce, split into independent parts, and decide one class: it is chosen, or it
// is not. Both ways the reducer draws the consequences, so a narrow problem falls apart after few
// decisions. Exact for any costs.

#include "egraph/exact/outcome.h"

namespace lemma::exact {

struct BranchOptions {
  std::size_t most_decisions = 2000;
  Limit limit;
};

/// Seeks the cheapest selection below `upper_bound`.
Outcome branch_and_bound(const Problem& problem, Cost upper_bound, const BranchOptions& options);

}  // namespace lemma::exact
