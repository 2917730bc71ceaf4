#pragma once
// A small graph as a self-contained SVG picture.

#include <string>

#include "ir/graph.h"

namespace lemma {

/// Data flows from top to bottom; each box has the operator, its attributes and its types, whole. For
/// graphs of some dozen nodes, as the sides of rules are.
std::string graph_svg(const Graph& graph);

}  // namespace lemma
