#include "search/rule_sets.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include "egraph/rule_use.h"
#include "search/blocked_layout.h"
#include "search/rule_subset.h"

namespace lemma {
namespace {

/// Costs of a typical application of a rule, at sizes at which launching operators takes most of the
/// time and at sizes at which computing does.
std::vector<OperationCost> typical_situations(const OperatorCosts& costs) {
  std::vector<OperationCost> result;
  for (const std::int64_t size : {4, 32})
    result.emplace_back([sized = costs.with_sizes({.otherwise = size}),
                         known = std::make_shared<std::unordered_map<std::string, double>>()](
                            const OperatorRecord& record, const Instance& instance,
                            std::span<const TensorType> outputs) {
      // Rules have most applications in common.
      const CostKey key = sized.key(record, instance, outputs);
      const auto [cost, is_new] = known->try_emplace(text(key), 0);
      if (is_new) cost->second = sized.find(key).seconds;
      return cost->second;
    });
  return result;
}

/// In an e-graph more general rules do what those do that prepare a graph for folding.
std::vector<Substitution> without_preparing(std::span<const Substitution> rules,
                                            const FoldingRules& folding) {
  std::vector<Substitution> result;
  for (const Substitution& rule : rules)
    if (std::find(folding.preparing.begin(), folding.preparing.end(), rule) ==
        folding.preparing.end())
      result.push_back(rule);
  return result;
}

/// A rule with `=>` that takes constants into an operator, such as a scale into a convolution.
bool folds_weights(const Substitution& rule) {
  return rule.left.size() == 1 && std::any_of(rule.inputs.begin(), rule.inputs.end(),
                                              [](const RuleInput& input) { return input.weight; });
}

/// Only where something of the graph can be computed in blocks.
Result<void> add_layouts(const Graph& graph, std::span<const Substitution> rules, RuleSets& sets) {
  std::copy_if(rules.begin(), rules.end(), std::back_inserter(sets.about_layout), is_about_layout);
  RuleSet layouts{sets.about_layout, {}};
  const std::set<OperatorId> blocked = operators_with_blocked_form(layouts);
  const std::vector<NodeId> nodes = graph.live_nodes();
  const bool has_some = std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    return graph.node(id).kind == NodeKind::operation && blocked.contains(graph.node(id).op);
  });
  if (!has_some) return {};
  LEMMA_ASSIGN_OR_RETURN(layouts.compiled, compile_rules(layouts.rules));
  sets.layouts = std::move(layouts);
  return {};
}

}  // namespace

Result<RuleSets> rule_sets_for(const Graph& graph, std::span<const Substitution> rules,
                               const OperatorCosts& costs, std::string_view runtime,
                               const RuleNames& bitwise, bool has_layouts,
                               std::span<const std::int64_t> target_values) {
  RuleSets sets;
  sets.relevant = relevant_rules(graph, rules, runtime);
  sets.recurrences = folding_rules(sets.relevant);
  sets.general = without_preparing(sets.relevant, folding_rules(rules));
  for (RuleSet* set : {&sets.all, &sets.saving, &sets.refining, &sets.folding_weights})
    set->rules = sets.general;
  LEMMA_ASSIGN_OR_RETURN(CompiledUses uses, compile_uses(sets.general, typical_situations(costs),
                                                         bitwise, target_values));
  for (std::size_t i = 0; i < uses.rules.size(); ++i) {
    const CompiledRule& use = uses.rules[i];
    if (uses.saves[i]) sets.saving.compiled.push_back(use);
    if (use.rule.bidirectional) continue;
    sets.refining.compiled.push_back(use);
    if (folds_weights(use.rule)) sets.folding_weights.compiled.push_back(use);
  }
  sets.all.compiled = std::move(uses.rules);
  if (has_layouts) LEMMA_RETURN_IF_ERROR(add_layouts(graph, rules, sets));
  return sets;
}

}  // namespace lemma
