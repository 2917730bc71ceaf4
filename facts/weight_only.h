#pragma once
// Nodes that are computed when a model is built, not when it runs.

#include <string>
#include <vector>

#include "ir/graph.h"

namespace lemma {

/// For each node, whether it depends on no input and no opaque node.
std::vector<bool> weight_only_nodes(const Graph& graph);

/// An operator with the type of its first operand, as "Pow i64": what is folded alike.
std::string folded_operator(const Graph& graph, const Node& node);

}  // namespace lemma
