#pragma once
// Operations of a graph that give an operand as it is (facts/kept_operand.h), by what its constants hold.

#include <map>
#include <vector>

#include "facts/kept_operand.h"
#include "ir/graph.h"

namespace lemma {

/// For each value the operand that it equals; none for most. `inputs`: what is known of inputs that
/// stand for constants. The same whatever the graph holds beside what a value is computed from.
std::vector<ValueId> kept_operands(const Graph& graph,
                                   const std::map<ValueId, ValueFacts>& inputs = {},
                                   bool only_bitwise = false);

/// The graph without these operations, and their number.
struct WithoutKept {
  Graph graph;
  std::size_t left_out = 0;
};
Result<WithoutKept> without_kept_operands(const Graph& graph, bool only_bitwise);

}  // namespace lemma
