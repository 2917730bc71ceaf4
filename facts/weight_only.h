#pragma once
// Nodes that are computed when a model is built, not when it runs.

#include <vector>

#include "ir/graph.h"

namespace lemma {

/// For each node, whether it depends on no input and no opaque node.
std::vector<bool> weight_only_nodes(const Graph& graph);

}  // namespace lemma
