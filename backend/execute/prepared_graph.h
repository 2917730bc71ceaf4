#pragma once
// Graphs as task programs are made of them: all sizes fixed, constants computed.

#include <span>

#include "base/result.h"
#include "interpreter/run.h"
#include "ir/graph.h"

namespace lemma::backend {

/// The graph with the sizes of the inputs, and with what depends on constants alone computed. Inputs that are not given have the
/// sizes that the graph has, which are fixed.
Result<Graph> prepared_graph(const Graph& graph, std::span<const interpreter::NamedTensor> inputs);
/// The same without composite operators, but for those that have a kernel of their own (ir/kernel_override.h), so that what these make of their weights alone is computed too.
Result<Graph> program_graph(const Graph& graph, std::span<const interpreter::NamedTensor> inputs);

/// The same of a graph whose sizes are fixed.
Result<Graph> program_graph(const Graph& graph);

}  // namespace lemma::backend
