#include "search/rule_subset.h"

namespace lemma {

std::vector<Substitution> relevant_rules(const Graph& graph, std::span<const Substitution> rules) {
  std::vector<bool> present(all_operators().size(), false);
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
      stack.insert(stack.end(), term.operands.begin(), term.operands.end());
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
      if (chosen[i]) continue;
      chosen[i] = side_present(rules[i], rules[i].left) ||
                  (rules[i].bidirectional && !rules[i].search_forward &&
                   side_present(rules[i], rules[i].right));
      if (chosen[i]) add_operators(rules[i]);
      changed = changed || chosen[i];
    }
  }
  std::vector<Substitution> result;
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (chosen[i]) result.push_back(rules[i]);
  return result;
}

}  // namespace lemma
