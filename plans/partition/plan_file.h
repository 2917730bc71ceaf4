#pragma once
// Plans as files: JSON that people read and change (docs/plans.md, "Plan files").

#include <filesystem>
#include <string>
#include <string_view>

#include "plans/partition/partition.h"

namespace lemma::plans {

/// All inputs, weights, nodes and outputs of the graph with their placements, each node in a line.
std::string plan_text(const Graph& graph, const PlanChoice& choice);

/// Errors name the file and the entry: what is no JSON, names that the graph does not have, placements that do not fit. What
/// a plan does not name is replicated.
Result<PlanChoice> read_plan(std::string_view text, const Graph& graph, const std::string& file);

}  // namespace lemma::plans
