#pragma once
// What `lemma optimize` tells of its models: JSON for programs, a table for people.

#include <string>
#include <vector>

#include "batch/child_process.h"
#include "batch/optimize_request.h"

namespace lemma {

/// What a child's end says of its model: its answer, or why there is none.
OptimizeAnswer answer_of(const OptimizeRequest& request, const ChildOutcome& outcome);

/// Whether the model's output is what the search or the original gave, checked.
bool is_written(const OptimizeAnswer& answer);

/// An object with an entry for each model (docs/search.md), without a line end.
std::string report_json(const std::vector<OptimizeAnswer>& answers);

/// A line for each model, of at most 100 columns or so: what became of it, and what it gained. The last line is about all of
/// them, if there are several.
std::string summary_table(const std::vector<OptimizeAnswer>& answers);

/// The same with all figures, in more than 200 columns.
std::string detailed_table(const std::vector<OptimizeAnswer>& answers);

}  // namespace lemma
