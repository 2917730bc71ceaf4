#pragma once
// Which rules can have a place in a graph at all.

#include <span>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "rule_language/substitution.h"

namespace lemma {

/// Whether the rule is for a target that is this runtime (empty: none). A rule is not if it has operators that another
/// runtime alone has. Nor is one that finds a spelling of an operator, which only that runtime has in all operator
/// sets: elsewhere nothing is gained by it.
bool is_for_runtime(const Substitution& rule, std::string_view runtime);

/// Rules for the runtime of which one side's operators all occur in the graph, or can come to occur through the
/// other rules chosen; in order. The others could never match.
std::vector<Substitution> relevant_rules(const Graph& graph, std::span<const Substitution> rules,
                                         std::string_view runtime = "");

/// Rules of which one side is made of the other by leaving operators out: each has fewer operators of some
/// kinds and more of none, or there are at most three, and one or two of common kinds take their place. Operators on
/// weights alone do not count, since they are computed when the model is written, also where that holds if one of the
/// rule's inputs is a weight.
/// Also rules that take an operator on weights (a normalization) apart into operators which those absorb, and those that
/// spell one view as another of a common kind, which can be joined with its neighbors.
std::vector<Substitution> cleaning_rules(std::span<const Substitution> rules);

}  // namespace lemma
