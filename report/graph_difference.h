#pragma once
// What differs between two graphs, node by node, and the places where it does.
//
// Nodes are paired that do the same (operator and attributes, or the same opaque operator) and that give the same
// value from the same values; that give values of the same name; that stand at the same place before the outputs; or
// that do the same with other weights. What is left has been taken away or added. A pair shows what stayed, not that
// both compute the same.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace lemma {

/// Nodes that were exchanged together: they read one another, or give the same value.
struct ChangedPlace {
  std::vector<NodeId> before, after;  // of the two graphs, in order
  /// Operators before and after: "2 Mul, Conv -> Conv", or "Conv -> Conv with other constants".
  std::string text;
};

struct GraphDifference {
  /// By node: taken away or added, or with other constants than its partner.
  std::vector<char> only_before, only_after;
  std::vector<ChangedPlace> places;  // in the order of the graphs
  /// Operators: how many of each there are before and after, where these numbers differ.
  std::map<std::string, std::pair<std::size_t, std::size_t>> operators;
  /// All outputs are computed by the same operations from the same inputs and constants.
  bool same_program = false;
};

GraphDifference difference(const Graph& before, const Graph& after);

/// Some nodes of a graph, and what they read, as inputs; what is read of them elsewhere are its outputs.
Result<Graph> part_of(const Graph& graph, const std::vector<NodeId>& nodes);

/// "Conv", or "com.microsoft.FusedConv" of an operator without a record.
std::string operator_name(const Graph& graph, const Node& node);

}  // namespace lemma
