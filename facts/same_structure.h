#pragma once
// Whether two graphs are the same program, node by node, up to the numbers and names of values.

#include <string>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"

namespace lemma {

/// The same inputs by name and type, the same outputs by name, and these computed by the same
/// operations with the same attributes from the same constants, bit by bit. Identity counts as its operand. The error says at which
/// output they differ.
Result<void> check_same_structure(const Graph& graph, const Graph& other);

/// The names of outputs of both that are not computed by the same operations on the same values.
std::vector<std::string> differently_computed_outputs(const Graph& graph, const Graph& other);

/// Gives opaque nodes the labels that they have in a graph of the same structure, so that both graphs are cut
/// alike (facts/cut.h).
void take_labels(const Graph& from, Graph& to);

}  // namespace lemma
