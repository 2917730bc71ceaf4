#pragma once
// The rules that a search of one graph uses, by what for.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "costmodel/operator_costs.h"
#include "search/fold_recurrences.h"
#include "search/rule_subset.h"
#include "search/saturation_round.h"

namespace lemma {

/// Sets of rules. They are not to be copied, as they refer to `general`.
struct RuleSets {
  RuleSets() = default;
  RuleSets(const RuleSets&) = delete;
  RuleSets& operator=(const RuleSets&) = delete;
  RuleSets(RuleSets&&) = default;
  RuleSets& operator=(RuleSets&&) = default;
  ~RuleSets() = default;

  std::vector<Substitution> relevant;  // that can have a place in the graph
  std::vector<Substitution> general;   // of them those for e-graphs
  RecurrenceRules recurrences;         // of them those for recurrences
  RuleNames bitwise;                   // the names of those that keep every bit
  // Of `general`, in the directions that pay:
  RuleSet all;
  RuleSet saving;           // those that save something themselves
  RuleSet refining;         // those with `=>`
  RuleSet folding_weights;  // of these those that take constants into an operator
  // Those about the layouts of a runtime; none if the graph has nothing that it computes in blocks.
  std::vector<Substitution> about_layout;
  RuleSet layouts;
};

/// `target`: search/rule_subset.h. `bitwise`: the rules of this rounding class.
/// `has_layouts`: the target computes in blocks of channels (search/blocked_layout.h). `target_values`: SearchOptions.
Result<RuleSets> rule_sets_for(const Graph& graph, std::span<const Substitution> rules,
                               const OperatorCosts& costs, const RuleTarget& target,
                               const RuleNames& bitwise, bool has_layouts = false,
                               std::span<const std::int64_t> target_values = {});

}  // namespace lemma
