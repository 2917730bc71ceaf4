#pragma once
// Random numbers that a run draws, and what is known of results that depend on them: no value, but that some draw gives it.

#include <cstdint>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "ir/run_time_value.h"
#include "procedures/procedure.h"

namespace lemma::runner {

/// A node that was run and whose results are random.
struct DrawnNode {
  NodeId node;
  const ProcedureRecord* procedure = nullptr;  // null: the node has bodies that draw
  std::vector<RunTimeValue> operands;
  NodeAttributes attributes = {};
  int operator_set = 0;
};

/// Each node without a seed takes a stream of numbers of its own, in the order in which nodes are run.
struct Drawing {
  const Graph& graph;  // that is run, with its bodies
  std::uint64_t seed = 0;
  std::uint64_t count = 0;       // of draws until now
  std::vector<DrawnNode> nodes;  // of the graph; not those of bodies
};

/// For each output of the graph, after the run: whether it depends on what was drawn.
std::vector<bool> drawn_outputs(const Drawing& drawing);

/// Whether all outputs of the graph that drawn nodes give could have these values, which have the types of those that the run
/// gave. The error names the operator and says what no draw gives.
Result<void> could_be_drawn(const Drawing& drawing, std::span<const RunTimeValue> outputs);

}  // namespace lemma::runner
