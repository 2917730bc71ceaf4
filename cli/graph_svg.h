#pragma once
// A small graph as a self-contained SVG picture.

#include <string>

#include "ir/graph.h"

namespace lemma {

/// Text as it stands in HTML and SVG.
std::string html_escaped(std::string_view text);

/// Data flows from top to bottom; each box has the operator, its attributes and its types. For
/// graphs of some dozen nodes, as the sides of rules are.
std::string graph_svg(const Graph& graph);

}  // namespace lemma
