#pragma once
// A graph cut into parts that run one after the other: some as task programs, the others in a runtime.
//
// A part is a set of nodes that no path leaves and enters again. Each node has a level: how often it changes between programs
// and the runtime on the path to it that changes most often. The nodes of a level are a part, and levels follow each other.

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"

namespace lemma {

struct GraphPart {
  bool is_program = false;
  /// Its inputs and outputs are named by values: of the graph's inputs by their names.
  Graph graph;
  std::vector<NodeId> nodes;  // of the graph that was cut
};

struct PartedGraph {
  std::vector<GraphPart> parts;  // in the order in which they run
  /// The graph's outputs: their names, and the values that they are.
  struct Output {
    std::string name, value;
  };
  std::vector<Output> outputs;
};

/// `in_runtime`: nodes that no program computes. Others run in the runtime as well where a value between two of these nodes
/// would have to pass that is no tensor of numbers.
Result<PartedGraph> cut_into_parts(const Graph& graph, std::set<NodeId> in_runtime);

/// Names of operators, with how often they occur among the nodes: "NonZero, Unique (3)".
std::string operators_text(const Graph& graph, const std::set<NodeId>& nodes);

}  // namespace lemma
