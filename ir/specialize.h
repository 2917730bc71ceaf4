#pragma once
// A graph with some of its symbolic dimensions replaced.

#include <span>

#include "base/result.h"
#include "ir/dimension.h"
#include "ir/graph.h"

namespace lemma {

/// Rebuilds the graph with the symbols substituted in input types and attributes; types of all
/// other values are inferred again. Where `input_types` is given (one for each input, in order) it
/// replaces the types of the inputs. Nodes that no output depends on are dropped.
Result<Graph> specialize(const Graph& graph, const DimensionBindings& bindings,
                         std::span<const TensorType> input_types = {});

}  // namespace lemma
