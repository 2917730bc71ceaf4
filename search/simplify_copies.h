#pragma once
// Operators that only move elements, such as Slice and Concat, replaced by at most a Slice, a Transpose and a Reshape,
// where what they make of a value is that value, or some of its rows, in another order of axes. Rules have a fixed
// number of operands; this holds for any number of parts.

#include <optional>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace lemma {

struct SimplifiedCopies {
  Graph graph;
  /// The graph as it was, with what stands for some of its values: pairs of values of the same copies.
  Graph with_both;
  std::vector<std::pair<ValueId, ValueId>> pairs;
};

/// Nothing if nothing becomes simpler. Sizes that are not known are left alone.
Result<std::optional<SimplifiedCopies>> simplify_copies(const Graph& graph);

}  // namespace lemma
