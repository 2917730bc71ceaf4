#pragma once
// Passes that rewrite graphs as wholes (search/schedule.h).

#include "search/pass.h"

namespace lemma {

/// Leaves out what changes nothing, by the numbers that constants hold: no rule speaks of what a file has loaded.
Result<Candidates> leave_out(const SearchContext& context, Candidates all);

/// The original with recurrences that it writes out step by step as operators over all steps, and the cheapest that is
/// found from there: candidates whatever they cost as sums, since no single step of this saves anything.
Result<Candidates> join_recurrences(const SearchContext& context, Candidates all);

/// Backtracks from the best on, over as many graphs as the options allow.
Result<Candidates> backtrack_from_best(const SearchContext& context, Candidates all);

/// Backtracks from the start on, over few graphs: where an e-graph does not hold all forms, or was not searched to the
/// end, a better one may have been missed.
Result<Candidates> backtrack_from_start(const SearchContext& context, Candidates all);

/// Constants are taken into operators wherever that saves something, before an e-graph also holds the many other forms
/// of what is replaced and meets its limit.
Result<Candidates> fold_weights(const SearchContext& context, Candidates all);

/// Refines the best graph. Where a rule with `=>` is no equation, since its left side may be undefined, that graph
/// is rewritten instead: the original, what is made of it and the result are a chain of refinements.
Result<Candidates> refine_best(const SearchContext& context, Candidates all);
/// The same of any candidate, if there are rules for it and time.
Result<void> refine(const SearchContext& context, Candidates& all, Candidate& candidate);

}  // namespace lemma
