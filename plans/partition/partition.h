#pragma once
// A single-device graph as a program over many devices, for one strategy of each node.

#include <map>
#include <vector>

#include "base/result.h"
#include "plans/program.h"

namespace lemma::plans {

/// How the operands and the outputs of a node are placed.
struct NodePlacements {
  std::vector<Placement> reads, gives;
};

struct PlanChoice {
  Mesh mesh;
  std::map<ValueId, Placement>
      sources;  // inputs and constants; those that are not here are replicated
  std::map<NodeId, NodePlacements> nodes;    // operations; those that are not here are replicated
  std::map<std::string, Placement> outputs;  // those that are not here are replicated
};

/// Where an operand is placed otherwise than a node reads it, collectives stand between. The result is not yet proved to
/// be the graph: plans/relations/verification.h does that. Errors name the node: an opaque one, or one whose copies do not
/// have the types that the placements say.
Result<Program> partitioned(const Graph& single, const PlanChoice& choice);

/// Adds the collectives that lead from one placement to another one. An error: what is replicated or in parts would
/// become partial.
Result<ValueId> moved(Graph& graph, ValueId value, const Placement& from, const Placement& to,
                      const Mesh& mesh);

}  // namespace lemma::plans
