#pragma once
// Assignments as files: JSON that people read and change (docs/plans.md, "Plans of operators on ranks").

#include <string>
#include <string_view>

#include "plans/assignment/assignment.h"

namespace lemma::plans {

/// Whether a plan says which rank computes which operator (otherwise it is one of plans/partition/plan_file.h).
bool is_assignment(std::string_view text);

std::string assignment_text(const Graph& graph, const Assignment& assignment);

/// Errors name the file and the entry.
Result<Assignment> read_assignment(std::string_view text, const Graph& graph,
                                   const std::string& file);

}  // namespace lemma::plans
