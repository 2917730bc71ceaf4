#pragma once
// Passes that saturate e-graphs (search/schedule.h).

#include "search/pass.h"

namespace lemma {

/// The whole graph from the best on, with all rules.
Result<Candidates> saturate_whole(const SearchContext& context, Candidates all);

/// The whole graph once more, from the start on. Where a limit is met, what comes first decides: rules begin that save
/// something themselves, without those that only lead to others.
Result<Candidates> saturate_saving_first(const SearchContext& context, Candidates all);

/// Passes over parts of the best graph, with the seams at some places and then between these, until two in turn find
/// nothing cheaper.
Result<Candidates> saturate_parts(const SearchContext& context, Candidates all);

/// One more round, whose e-graph holds the best graph so far.
Result<Candidates> prove_extraction(const SearchContext& context, Candidates all);

/// Rounds until one finds nothing cheaper: what a limit kept out of one e-graph may come into the next, which begins at a
/// cheaper graph.
Result<void> saturate_from(const SearchContext& context, Candidates& all, Candidate& candidate,
                           const RuleSet& rules);

}  // namespace lemma
