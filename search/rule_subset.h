#pragma once
// Which rules can have a place in a graph at all.

#include <span>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "rule_language/substitution.h"

namespace lemma {

/// Whether a rule, by its roles, is for graphs on a target that is this runtime (empty: none). Rules about layouts are
/// for none: their operators stand for costs only.
bool is_for_runtime(const Substitution& rule, std::string_view runtime);

/// Rules for the runtime of which one side's operators all occur in the graph, or can come to occur through the
/// other rules chosen; in order, each with its roles. The others could never match. Those of partial equivalence are
/// left out unless the target takes them.
std::vector<Substitution> relevant_rules(const Graph& graph, std::span<const Substitution> rules,
                                         std::string_view runtime = "", bool takes_partial = false);

/// The rules with the role `simplification`, each with all its roles.
std::vector<Substitution> simplifying_rules(std::span<const Substitution> rules);

}  // namespace lemma
