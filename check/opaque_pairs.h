#pragma once
// Which opaque nodes of two models stand for each other, and whether they compute the same. A comparison that cuts both
// graphs there (facts/cut.h) relies on it.

#include <set>
#include <string>
#include <vector>

#include "frontend_onnx/model.h"

namespace lemma {

/// A graph with all that decides what its opaque nodes compute in their meanings: versions of operator sets and local
/// functions are those of the file (KeptNode::context), and two files may differ in them.
struct ContextGraph {
  Graph graph;
  std::set<std::string> with_bodies;  // labels of nodes that have bodies
};
Result<ContextGraph> graph_with_contexts(const OnnxModel& model);

struct DifferentNode {
  std::string place;  // "Loop 'y'"
  bool has_bodies = false;
};

struct OpaquePairs {
  /// Why cutting both says nothing about the rest: a node stands in one of them only, or is given something that is no
  /// tensor, and not the same in both. Empty: for every node there is the one with its label, and what the graphs
  /// compute between these nodes can be compared.
  std::string objection;
  /// Nodes that compute something else than their partner, or have none.
  std::vector<DifferentNode> different;
};

OpaquePairs pair_opaque_nodes(const ContextGraph& original, const ContextGraph& other);

/// An opaque node without bodies that stands in both with the same label and does not compute the same; empty if there is
/// none. Operator sets may differ, bodies may be other ones.
std::string changed_opaque_node(const OnnxModel& original, const OnnxModel& result);

/// A value that no comparison by computing reaches, because it is no tensor of numbers of known type, and that does not
/// come from the same place in both: an operand of an opaque node without bodies, or an output. Empty: there is none.
std::string value_that_is_not_compared(const OnnxModel& original, const OnnxModel& result);

}  // namespace lemma
