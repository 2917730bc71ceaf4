#pragma once
// A small graph as an SVG picture within a page, whose style has its colors, light and dark (report/web_page.h).

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace lemma {

/// Data flows from top to bottom; each box has the operator, its attributes and its types, whole. For
/// graphs of some dozen nodes, as the sides of rules are.
std::string graph_svg(const Graph& graph);

/// The same, with some nodes in a color of their own: "taken" or "added". `marked`: by node.
std::string graph_svg(const Graph& graph, std::span<const char> marked, std::string_view look);

/// The same, with lines of their own in the boxes of some nodes.
using NodeNotes = std::map<NodeId, std::vector<std::string>>;
std::string graph_svg(const Graph& graph, std::span<const char> marked, std::string_view look,
                      const NodeNotes& notes);

}  // namespace lemma
