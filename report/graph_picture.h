#pragma once
// A graph as the source of a Graphviz picture.

#include <string>

#include "ir/graph.h"

namespace lemma {

/// Data flows from top to bottom; edges carry types. Small constants are shown by their contents,
/// large ones by their types, both inside the node that reads them. Opaque nodes are grey.
std::string graph_picture(const Graph& graph);

}  // namespace lemma
