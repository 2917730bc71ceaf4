#pragma once
// What depends on no input, computed as the model computes it.

#include "base/result.h"
#include "ir/graph.h"

namespace lemma {

/// The graph with constants in place of operations on constants, each computed in its own type: a sum that overflows f32 is
/// an infinity then, though the rest is computed in f64. What cannot be computed stays.
Result<Graph> with_native_constants(const Graph& graph);

}  // namespace lemma
