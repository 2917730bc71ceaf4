#pragma once
// What shape inference takes for granted. Where a fixed size stands beside a symbolic one, or sizes
// cannot be compared, inference assumes that they fit at run time (`agree` and `broadcast` in
// ir/operators/, Reshape). A proof may use such an operation only where the claim already assumes
// the same.

#include <vector>

#include "ir/graph.h"

namespace lemma {

/// Differences of sizes that have to be 0 when the node is computed, beyond what types show.
/// Operators with several inputs that are not known here count every fixed size above 1 of one
/// input against every symbolic size of another: more than needed, never less.
std::vector<Dimension> run_time_conditions(const Graph& graph, const Node& node);

/// Those of all nodes that the values are computed from.
std::vector<Dimension> conditions_below(const Graph& graph, const std::vector<ValueId>& roots);

/// Whether `difference` is 0 wherever all of `accepted` are: a sum of at most two of them, with
/// signs.
bool follows(const Dimension& difference, const std::vector<Dimension>& accepted);

}  // namespace lemma
