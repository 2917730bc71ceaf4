#pragma once
// A graph without composite operators.

#include "ir/graph.h"
#include "ir/result.h"

namespace lemma {

/// Replaces every node whose operator is defined by composition, until all operations have a
/// definition of their own. Nodes that no output depends on are dropped.
Result<Graph> expand_composites(const Graph& graph);

}  // namespace lemma
