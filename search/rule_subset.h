#pragma once
// Which rules can have a place in a graph at all.

#include <span>
#include <vector>

#include "ir/graph.h"
#include "rule_language/substitution.h"

namespace lemma {

/// Rules of which one side's operators all occur in the graph, or can come to occur through the
/// other rules chosen; in order. The others could never match.
std::vector<Substitution> relevant_rules(const Graph& graph, std::span<const Substitution> rules);

}  // namespace lemma
