#pragma once
// Nodes that are computed when a model is built, not when it runs.

#include <string>
#include <vector>

#include "ir/graph.h"

namespace lemma {

/// For each node, whether it depends on no input and no opaque node. `with_stored_forms`: also what stays in a model because it
/// says how weights are stored, such as a DequantizeLinear.
std::vector<bool> weight_only_nodes(const Graph& graph, bool with_stored_forms = false);

/// An operator with the type of its first operand, as "Pow i64": what is folded alike.
std::string folded_operator(const Graph& graph, const Node& node);

}  // namespace lemma
