#pragma once
// The constraints (ir/constraints.h) that shape inference assumes. Where a fixed size meets a
// symbolic one, or sizes cannot be compared, inference assumes that they fit at run time. A proof
// may use such an operation only where the claim already makes the same assumption.

#include <vector>

#include "base/result.h"
#include "ir/graph.h"

namespace lemma {

struct RunTimeConditions {
  std::vector<Dimension> zero;   // differences that have to be 0
  std::vector<Dimension> sizes;  // of outputs, where it is not seen that they are at least 0
};

/// The assumptions of one node.
RunTimeConditions run_time_conditions(const Graph& graph, const Node& node);
/// The same of all nodes that the values are computed from.
RunTimeConditions conditions_below(const Graph& graph, const std::vector<ValueId>& roots);

/// Whether `wanted` holds wherever `accepted` does: each difference is a sum of at most two of
/// those accepted, with signs, and each size is one of them.
Result<void> check_follows(const RunTimeConditions& wanted, const RunTimeConditions& accepted);

}  // namespace lemma
