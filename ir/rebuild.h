#pragma once
// Copying a graph node by node into a new one, for passes that change some of the nodes.

#include <functional>
#include <span>
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

/// An operation as it is, with these attributes and operands; its outputs.
Result<std::vector<ValueId>> add_copy(Graph& target, const Node& node, Attributes attributes,
                                      std::vector<ValueId> inputs);
/// Any node of `source` as it is, with these operands; its outputs.
Result<std::vector<ValueId>> add_copy(Graph& target, const Graph& source, const Node& node,
                                      std::vector<ValueId> inputs);

/// What stands for each operand of the node, by value of its graph; none() for absent ones.
std::vector<ValueId> operands_in(const Node& node, std::span<const ValueId> values);

enum class ValueNames { kept, dropped };
/// Copies a node to where `values` says what stands for its operands, and enters its outputs there.
Result<void> copy_node(const Graph& source, const Node& node, Graph& target,
                       std::vector<ValueId>& values, ValueNames names = ValueNames::kept);

/// Live nodes in ascending order; inputs, constants, opaque nodes, names and outputs are kept.
Result<Graph> rebuild(const Graph& source, const RebuildType& type,
                      const RebuildOperation& operation);

}  // namespace lemma
