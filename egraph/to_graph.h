#pragma once
// From a selection back to a graph.

#include "egraph/extraction.h"

namespace lemma {

/// The classes of the outputs of the graph that was added.
std::vector<ClassId> output_classes(const EGraph& egraph);

/// The graph of the chosen nodes: the inputs of the original in their order, its outputs, suggested
/// names of values that are still computed. Nodes come in the order of their numbers as far as
/// operands allow; so what has not been changed keeps its order, opaque nodes included.
Result<Graph> to_graph(const EGraph& egraph, const Selection& selection);

}  // namespace lemma
