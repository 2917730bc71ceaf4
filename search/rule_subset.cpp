#include "search/rule_subset.h"

#include <algorithm>
#include <iterator>

#include "rule_language/rule_roles.h"

namespace lemma {

std::vector<Substitution> simplifying_rules(std::span<const Substitution> rules) {
  std::vector<Substitution> result = with_roles(rules);
  std::erase_if(result,
                [](const Substitution& rule) { return !has_role(rule, RuleRole::simplification); });
  return result;
}

namespace {

bool is_standard(const OperatorRecord& op, int operator_set) {
  return op.runtime.empty() &&
         std::any_of(op.onnx.begin(), op.onnx.end(), [operator_set](const OnnxMapping& mapping) {
           return mapping.domain.empty() && mapping.runtime.empty() && !mapping.import_only &&
                  mapping.since <= operator_set && operator_set <= mapping.until;
         });
}

bool is_standard(const Substitution& rule, int operator_set) {
  return std::all_of(rule.terms.begin(), rule.terms.end(), [operator_set](const RuleTerm& term) {
    return term.is_input || is_standard(record(term.op), operator_set);
  });
}

}  // namespace

bool is_for(const Substitution& rule, const RuleTarget& target) {
  if (has_role(rule, RuleRole::layout)) return false;
  if (has_role(rule, RuleRole::partial) && !target.takes_partial) return false;
  if (!has_role(rule, RuleRole::runtime)) return true;
  if (target.operator_set != 0 && is_standard(rule, target.operator_set)) return true;
  const std::set<std::string_view> runtimes = runtimes_of(rule);
  return runtimes.size() == 1 && runtimes.contains(target.runtime);
}

std::vector<Substitution> relevant_rules(const Graph& graph, std::span<const Substitution> given,
                                         const RuleTarget& target) {
  std::vector<Substitution> rules = with_roles(given);
  std::vector<bool> present(operator_id_limit(), false);
  for (const NodeId id : graph.live_nodes())
    if (graph.node(id).kind == NodeKind::operation) present[graph.node(id).op.v] = true;
  std::vector<bool> chosen(rules.size(), false);
  auto side_present = [&present](const Substitution& rule, const std::vector<TermId>& roots) {
    std::vector<TermId> stack = roots;
    while (!stack.empty()) {
      const RuleTerm& term = rule.terms[stack.back().v];
      stack.pop_back();
      if (term.is_input) continue;
      if (!present[term.op.v]) return false;
      std::copy_if(term.operands.begin(), term.operands.end(), std::back_inserter(stack),
                   [](TermId operand) { return !operand.is_none(); });
    }
    return true;
  };
  auto add_operators = [&present](const Substitution& rule) {
    for (const RuleTerm& term : rule.terms)
      if (!term.is_input) present[term.op.v] = true;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < rules.size(); ++i) {
      if (chosen[i] || !is_for(rules[i], target)) continue;
      chosen[i] = side_present(rules[i], rules[i].left) ||
                  (rules[i].bidirectional && !rules[i].search_forward &&
                   side_present(rules[i], rules[i].right));
      if (chosen[i]) add_operators(rules[i]);
      changed = changed || chosen[i];
    }
  }
  std::vector<Substitution> result;
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (chosen[i]) result.push_back(std::move(rules[i]));
  return result;
}

}  // namespace lemma
