#pragma once
// Cutting a graph into parts at places where few values cross, so that each part can be worked on
// alone, and putting it together again.
//
// Parts are intervals of the graph's nodes in topological order, so nothing leaves a part and comes
// back to it. What depends on constants alone belongs to every part that uses it.

#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace lemma {

struct Part {
  Graph graph;  // named inputs and outputs stand for these values of the whole graph
  std::vector<ValueId> inputs, outputs;
};

struct PartitionOptions {
  std::size_t size = 60;   // of a part in nodes that depend on inputs, roughly
  std::size_t offset = 0;  // where the first part ends, roughly; 0: after `size`
};

/// Within half a size around the place where a part should end, the cut with the fewest values
/// crossing it.
Result<std::vector<Part>> partition(const Graph& graph, const PartitionOptions& options);

/// The graph with each part replaced by a graph with the same inputs and outputs, in order of
/// parts.
Result<Graph> assemble(const Graph& graph, std::span<const Part> parts,
                       std::span<const Graph> replacements);

}  // namespace lemma
