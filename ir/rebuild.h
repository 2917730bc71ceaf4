#pragma once
// Copying a graph node by node into a new one, for passes that change some of the nodes.

#include <functional>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"

namespace lemma {

/// Adds what stands for an operation node to `target`, given the node's inputs there (none() for
/// absent ones); returns the values for its outputs.
using RebuildOperation = std::function<Result<std::vector<ValueId>>(Graph& target, const Node& node,
                                                                    std::vector<ValueId> inputs)>;
/// The new type of a graph input, or of an output of an opaque node.
using RebuildType = std::function<TensorType(const Graph& source, ValueId value)>;

/// The node as it is, with these attributes and operands; its outputs.
Result<std::vector<ValueId>> add_copy(Graph& target, const Node& node, Attributes attributes,
                                      std::vector<ValueId> inputs);

/// Live nodes in ascending order; inputs, constants, opaque nodes, names and outputs are kept.
Result<Graph> rebuild(const Graph& source, const RebuildType& type,
                      const RebuildOperation& operation);

}  // namespace lemma
