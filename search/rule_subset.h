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

/// Rules of which one side is made of the other by leaving operators out: each has fewer operators of some
/// kinds and more of none. They trade nothing for anything.
std::vector<Substitution> cleaning_rules(std::span<const Substitution> rules);

}  // namespace lemma
