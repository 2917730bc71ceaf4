#pragma once
// Which rules can have a place in a graph at all.

#include <span>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "rule_language/substitution.h"

namespace lemma {

/// Where a graph is to run.
struct RuleTarget {
  std::string_view runtime = "";  // whose own operators may be made; empty: none
  /// Of the model that is written: rules for a runtime whose operators are all standard ones there are for every target.
  /// 0: not known.
  int operator_set = 0;
  bool takes_partial = false;  // rules of partial equivalence
};

/// Whether a rule, by its roles, is for graphs on this target. Rules about layouts are for none: their operators stand for
/// costs only.
bool is_for(const Substitution& rule, const RuleTarget& target);

/// Rules for the target of which one side's operators all occur in the graph, or can come to occur through the
/// other rules chosen; in order, each with its roles. The others could never match.
std::vector<Substitution> relevant_rules(const Graph& graph, std::span<const Substitution> rules,
                                         const RuleTarget& target = {});

/// The rules with the role `simplification`, each with all its roles.
std::vector<Substitution> simplifying_rules(std::span<const Substitution> rules);

}  // namespace lemma
