#pragma once
// The pass that decides which graph is taken (search/schedule.h).

#include "search/pass.h"

namespace lemma {

/// The best becomes what the evaluator finds the cheapest, or without one what costs least with moves between layouts.
Result<Candidates> choose(const SearchContext& context, Candidates all);

}  // namespace lemma
