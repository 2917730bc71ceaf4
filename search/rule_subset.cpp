#include "search/rule_subset.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "egraph/pattern.h"

namespace lemma {

namespace {

bool is_same_node(const RuleTerm& a, const RuleTerm& b) {
  return std::tie(a.op, a.attributes, a.operands) == std::tie(b.op, b.attributes, b.operands);
}

using OperatorCounts = std::map<OperatorId, std::size_t>;

/// Terms that are computed from weights alone, when a model is built.
std::vector<char> weight_only_terms(const Substitution& rule) {
  std::vector<char> result(rule.terms.size(), 0);
  for (std::size_t i = 0; i < rule.terms.size(); ++i) {
    const RuleTerm& term = rule.terms[i];
    const auto is_weight_only = [&result](TermId operand) {
      return operand.is_none() || result[operand.v] != 0;
    };
    result[i] = term.is_input
                    ? rule.inputs[term.input].weight
                    : std::all_of(term.operands.begin(), term.operands.end(), is_weight_only);
  }
  return result;
}

/// How many nodes of each operator a side has; outputs of one node count once, and what is computed from weights
/// alone not at all.
OperatorCounts count_operators(const Substitution& rule, std::span<const TermId> roots) {
  const std::vector<char> needed = needed_terms(rule, roots), weights = weight_only_terms(rule);
  std::vector<const RuleTerm*> nodes;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    const RuleTerm& term = rule.terms[i];
    const auto is_known = [&term](const RuleTerm* other) { return is_same_node(*other, term); };
    if (needed[i] != 0 && !term.is_input && weights[i] == 0 &&
        std::none_of(nodes.begin(), nodes.end(), is_known))
      nodes.push_back(&term);
  }
  std::map<OperatorId, std::size_t> counts;
  for (const RuleTerm* node : nodes) ++counts[node->op];
  return counts;
}

bool leaves_out(const Substitution& rule, std::span<const TermId> from,
                std::span<const TermId> to) {
  const auto before = count_operators(rule, from), after = count_operators(rule, to);
  const auto is_there = [&before](const auto& entry) {
    const auto found = before.find(entry.first);
    return found != before.end() && entry.second <= found->second;
  };
  return before != after && std::all_of(after.begin(), after.end(), is_there);
}

/// The rule with one more input that is a weight.
Substitution with_weight(Substitution rule, std::size_t input) {
  rule.inputs[input].weight = true;
  return rule;
}

/// The rule leaves operators out, as it stands or where one of its inputs is known when the model is written.
bool leaves_out_at_weights(const Substitution& rule, bool backward) {
  const auto sides = [backward](const Substitution& one) {
    return backward ? leaves_out(one, one.right, one.left) : leaves_out(one, one.left, one.right);
  };
  if (sides(rule)) return true;
  for (std::size_t i = 0; rule.inputs.size() > 1 && i < rule.inputs.size(); ++i)
    if (!rule.inputs[i].weight && sides(with_weight(rule, i))) return true;
  return false;
}

/// In the standard form of every operator set that models are written in.
bool is_common(OperatorId op) {
  constexpr int oldest_set = 9;
  const auto& mappings = record(op).onnx;
  return std::any_of(mappings.begin(), mappings.end(), [](const OnnxMapping& mapping) {
    return mapping.domain.empty() && mapping.runtime.empty() && !mapping.import_only &&
           mapping.since <= oldest_set && mapping.until >= 1000;
  });
}

/// A few operators become fewer, of common kinds. (What replaces many is found by a search, not by cleaning.)
bool joins(const Substitution& rule, std::span<const TermId> from, std::span<const TermId> to) {
  constexpr std::size_t most_operators = 3;
  const auto before = count_operators(rule, from), after = count_operators(rule, to);
  const auto total = [](const OperatorCounts& counts) {
    std::size_t sum = 0;
    for (const auto& [op, count] : counts) sum += count;
    return sum;
  };
  return total(before) <= most_operators && total(after) < total(before) &&
         std::all_of(after.begin(), after.end(), [&before](const auto& entry) {
           return before.contains(entry.first) || is_common(entry.first);
         });
}

/// One view becomes another one of a common kind, which rules may join with its neighbors.
bool spells_view(const Substitution& rule) {
  const OperatorCounts before = count_operators(rule, rule.left),
                       after = count_operators(rule, rule.right);
  const auto is_one_view = [](const OperatorCounts& counts) {
    return counts.size() == 1 && counts.begin()->second == 1 &&
           record(counts.begin()->first).has(view);
  };
  return is_one_view(before) && is_one_view(after) && is_common(after.begin()->first);
}

/// Operators that the rule makes part of another one together with weights.
void add_absorbed(const Substitution& rule, std::span<const TermId> from,
                  std::span<const TermId> to, std::set<OperatorId>& absorbed) {
  if (std::none_of(rule.inputs.begin(), rule.inputs.end(),
                   [](const RuleInput& input) { return input.weight; }))
    return;
  const OperatorCounts after = count_operators(rule, to);
  if (after.empty()) return;
  for (const auto& [op, count] : count_operators(rule, from))
    if (!after.contains(op)) absorbed.insert(op);
}

/// The rule has one operator on weights on the left, and several on the right that other rules absorb.
bool takes_apart(const Substitution& rule, const std::set<OperatorId>& absorbed) {
  const OperatorCounts before = count_operators(rule, rule.left),
                       after = count_operators(rule, rule.right);
  return before.size() == 1 && before.begin()->second == 1 && after.size() > 1 &&
         std::any_of(rule.inputs.begin(), rule.inputs.end(),
                     [](const RuleInput& input) { return input.weight; }) &&
         std::all_of(after.begin(), after.end(),
                     [&](const auto& entry) { return absorbed.contains(entry.first); });
}

std::set<OperatorId> operators_below(const Substitution& rule, std::vector<TermId> roots) {
  std::set<OperatorId> result;
  while (!roots.empty()) {
    const RuleTerm& term = rule.terms[roots.back().v];
    roots.pop_back();
    if (term.is_input) continue;
    result.insert(term.op);
    for (const TermId operand : term.operands)
      if (!operand.is_none()) roots.push_back(operand);
  }
  return result;
}

/// A runtime that has the operator in operator sets of ONNX that do not have it; empty if there is none.
std::string_view runtime_with_forms_of(OperatorId op) {
  for (const OnnxMapping& mapping : record(op).onnx)
    if (!mapping.runtime.empty()) return mapping.runtime;
  return "";
}

/// The side has no forms but standard ones for what it has beside the other one.
bool adds_only_common_operators(const std::set<OperatorId>& side, const std::set<OperatorId>& other,
                                std::string_view runtime) {
  return std::all_of(side.begin(), side.end(), [&](OperatorId op) {
    const std::string_view owner = runtime_with_forms_of(op);
    return other.contains(op) || owner.empty() || owner == runtime;
  });
}

}  // namespace

std::vector<Substitution> cleaning_rules(std::span<const Substitution> rules) {
  std::vector<char> chosen;
  std::set<OperatorId> absorbed;
  for (const Substitution& rule : rules) {
    const bool forward = leaves_out(rule, rule.left, rule.right),
               backward = rule.bidirectional && !rule.search_forward &&
                          leaves_out(rule, rule.right, rule.left);
    if (forward) add_absorbed(rule, rule.left, rule.right, absorbed);
    if (backward) add_absorbed(rule, rule.right, rule.left, absorbed);
    const bool may_go_back = rule.bidirectional && !rule.search_forward;
    const bool joined =
        joins(rule, rule.left, rule.right) || leaves_out_at_weights(rule, false) ||
        (may_go_back && (joins(rule, rule.right, rule.left) || leaves_out_at_weights(rule, true)));
    chosen.push_back(forward || backward || joined || spells_view(rule) ? 1 : 0);
  }
  std::vector<Substitution> result;
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (chosen[i] != 0 || takes_apart(rules[i], absorbed)) result.push_back(rules[i]);
  return result;
}

bool is_for_runtime(const Substitution& rule, std::string_view runtime) {
  for (const RuleTerm& term : rule.terms) {
    if (term.is_input) continue;
    const std::string_view owner = record(term.op).runtime;
    if (!owner.empty() && owner != runtime) return false;
  }
  const std::set<OperatorId> left = operators_below(rule, rule.left),
                             right = operators_below(rule, rule.right);
  return adds_only_common_operators(right, left, runtime) &&
         (!rule.bidirectional || adds_only_common_operators(left, right, runtime));
}

std::vector<Substitution> relevant_rules(const Graph& graph, std::span<const Substitution> rules,
                                         std::string_view runtime) {
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
      if (chosen[i] || !is_for_runtime(rules[i], runtime)) continue;
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
