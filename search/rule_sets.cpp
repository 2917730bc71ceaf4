#include "search/rule_sets.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include "egraph/rule_use.h"
#include "rule_language/rule_roles.h"
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

/// The rules for e-graphs: there more general rules do what those do that bring steps of a
/// recurrence into a form.
std::vector<Substitution> for_egraphs(std::vector<Substitution> relevant,
                                      const RecurrenceRules& recurrences) {
  std::erase_if(relevant, [&recurrences](const Substitution& rule) {
    return std::find(recurrences.form.begin(), recurrences.form.end(), rule) !=
           recurrences.form.end();
  });
  return relevant;
}

/// A use of a rule with `=>` that takes constants into an operator, such as a scale into a convolution. No role: where
/// inputs have to be weights follows from costs on the target (egraph/rule_use.h).
bool folds_weights(const Substitution& rule) {
  return rule.left.size() == 1 && std::any_of(rule.inputs.begin(), rule.inputs.end(),
                                              [](const RuleInput& input) { return input.weight; });
}

/// Adds rules of layouts, only where something of the graph can be computed in blocks.
Result<void> add_layouts(const Graph& graph, std::span<const Substitution> rules, RuleSets& sets) {
  std::copy_if(rules.begin(), rules.end(), std::back_inserter(sets.about_layout),
               [](const Substitution& rule) { return has_role(rule, RuleRole::layout); });
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

Result<RuleSets> rule_sets_for(const Graph& graph, std::span<const Substitution> given,
                               const OperatorCosts& costs, const RuleTarget& target,
                               const RuleNames& bitwise, bool has_layouts,
                               std::span<const std::int64_t> target_values) {
  RuleSets sets;
  const std::vector<Substitution> rules = with_roles(given);
  sets.bitwise = bitwise;
  sets.relevant = relevant_rules(graph, rules, target);
  sets.recurrences = recurrence_rules(sets.relevant);
  sets.general = for_egraphs(sets.relevant, recurrence_rules(rules));
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
