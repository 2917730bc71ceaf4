#pragma once
// A graph without composite operators.

#include <string_view>

#include "base/result.h"
#include "ir/graph.h"

namespace lemma {

/// Replaces every node whose operator is defined by composition, until all operations have a
/// definition of their own. Nodes that no output depends on are dropped.
Result<Graph> expand_composites(const Graph& graph);
/// The same, but applications that have a kernel of their own for a target (ir/kernel_override.h) stay. An empty target has none.
Result<Graph> expand_but_kernels(const Graph& graph, std::string_view target);
/// The same, but recurrences over unknown numbers of steps stay: one over n + 1 steps becomes one over n and one step,
/// which is written out only with `with_steps`, as recurrences over known numbers of steps are.
Result<Graph> expand_but_recurrences(const Graph& graph, bool with_steps);

}  // namespace lemma
