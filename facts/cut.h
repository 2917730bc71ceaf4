#pragma once
// A graph without its opaque nodes, so that the rest can be evaluated: outputs of an opaque node
// become inputs of the graph, and its inputs become outputs.

#include <string>

#include "ir/graph.h"

namespace lemma {

/// Inputs "opaque NAME#k" stand for output k of an opaque node, outputs "into opaque NAME#i" for its
/// input i; the names follow from the node's label, so that they agree between a graph and its
/// optimized form. Values of unknown type are left out: they only pass between opaque
/// nodes. Without opaque nodes it is the same graph, less what no output needs.
Result<Graph> cut_at_opaque_nodes(const Graph& graph);
/// Whether a live node is opaque.
bool has_opaque_nodes(const Graph& graph);
/// NAME of the above, unless several opaque nodes are alike.
std::string cut_name(const OpaqueOperator& op);

}  // namespace lemma
