#pragma once
// The minimal basis: rules that follow from the others are marked as derived.

#include <vector>

#include "database/build.h"
#include "database/queries.h"

namespace lemma::database {

/// Marks rules in `rules` so that those without a mark derive all others within the limits. Large
/// rules are tried first, so that small ones stay. Of derived rules it says why they are kept: the search,
/// starting from the left side alone, does not find the right side.
/// `given` always count as basis: what follows from them is derived, they themselves never are.
Result<void> minimize(std::vector<BuiltRule>& rules, const std::vector<BuiltRule>& given,
                      MemoizedQueries& queries, const BuildOptions& options);

}  // namespace lemma::database
