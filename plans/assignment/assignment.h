#pragma once
// Which rank computes which operator of a graph, as a program of ranks: pipelines, branches and wavefronts.

#include <optional>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"
#include "plans/by_rank/ranked_program.h"

namespace lemma::plans {

/// How the values of a graph are cut into parts of a batch that are computed one after the other (microbatches).
struct BatchCut {
  std::size_t parts = 1;
  /// By value, the axis that is cut; nothing: all parts have the value as it is.
  std::vector<std::optional<std::size_t>> axes;
  /// By value, whether it is computed from constants alone. Each rank computes for itself what it needs of these.
  std::vector<bool> is_fixed;

  bool is_cut(const Node& node) const { return axes[node.output().v].has_value(); }
};

/// The inputs that are as long as the first one along axis 0 are cut there, and operators follow, each in a way that is
/// proved (plans/partition/strategies.h). An error names the operator that has none.
Result<BatchCut> cut_batch(const Graph& graph, std::size_t parts);

/// An operator, for one part of the batch or for all.
struct PlacedOperator {
  NodeId node;
  std::size_t part = 0;
  std::size_t rank = 0;
};

struct Assignment {
  std::size_t ranks = 1;
  std::size_t parts = 1;
  /// Operands come before what reads them. A rank computes its operators in this order, sends a result as soon as it has it,
  /// and receives an operand when it needs it.
  std::vector<PlacedOperator> order;
};

/// The program is not yet proved to be the graph: plans/relations/verification.h does that. Errors name an operator that
/// no rank computes, two compute, or that comes too early.
Result<RankedProgram> assigned(const Graph& single, const Assignment& assignment);

/// An operator as one of its parts is computed: attributes are those for a part.
Result<Attributes> part_attributes(const Graph& graph, const Node& node, const BatchCut& cut);
/// The type of a value for one part.
TensorType part_type(const Graph& graph, ValueId value, const BatchCut& cut);

}  // namespace lemma::plans
