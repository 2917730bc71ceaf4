#pragma once
// Outputs of a body that something around it may look at for NaN: for the search they are what an opaque
// operator is given, so that they stay what they are bit for bit, or are defined.

#include <span>

#include "base/result.h"
#include "ir/graph.h"

namespace lemma {

/// The graph with one more output, after the others: that of an opaque operator which is given the outputs
/// that are `observed`, by output. The graph as it is if none of known type is.
Result<Graph> with_observer(const Graph& graph, std::span<const char> observed);

/// Inverse of with_observer(), of a graph that a search has found. `output_count`: of the graph without.
Result<Graph> without_observer(const Graph& graph, std::size_t output_count);

}  // namespace lemma
