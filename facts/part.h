#pragma once
// A graph reduced to some of its outputs.

#include <cstddef>
#include <functional>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"

namespace lemma {

/// For each value of the graph, whether it depends on an input for which `is_meant` holds.
std::vector<bool> depends_on_inputs(const Graph& graph,
                                    const std::function<bool(const Node& input)>& is_meant);

/// The outputs for which `is_kept` holds, and what they need. Other inputs go, but for those that `keeps_input` holds for,
/// if it is given.
Result<Graph> with_outputs(const Graph& graph,
                           const std::function<bool(const GraphOutput&)>& is_kept,
                           const std::function<bool(const Node& input)>& keeps_input = nullptr);

/// The graph with the first of its outputs only, and what these need. All inputs stay.
Result<Graph> with_first_outputs(const Graph& graph, std::size_t output_count);
/// The graph without nodes that no output needs.
Result<Graph> without_dead_nodes(const Graph& graph);

}  // namespace lemma
