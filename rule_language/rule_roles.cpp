#include "rule_language/rule_roles.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>

#include "ir/runtime_layout.h"
#include "rule_language/substitution_analysis.h"

namespace lemma {
namespace {

struct NamedRole {
  RuleRole role;
  std::string_view name;
};

constexpr std::array named_roles = {
    NamedRole{RuleRole::general, "general"},
    NamedRole{RuleRole::simplification, "simplification"},
    NamedRole{RuleRole::runtime, "runtime"},
    NamedRole{RuleRole::layout, "layout"},
    NamedRole{RuleRole::partial, "partial"},
    NamedRole{RuleRole::recurrence_form, "recurrence_form"},
    NamedRole{RuleRole::recurrence, "recurrence"},
    NamedRole{RuleRole::recurrence_results, "recurrence_results"},
};

}  // namespace

std::string_view name(RuleRole role) { return named_roles[static_cast<std::size_t>(role)].name; }

std::optional<RuleRole> rule_role_named(std::string_view name) {
  for (const NamedRole& known : named_roles)
    if (known.name == name) return known.role;
  return std::nullopt;
}

std::string rule_role_names() {
  std::string result;
  for (const NamedRole& known : named_roles)
    result += (result.empty() ? "" : ", ") + std::string(known.name);
  return result;
}

bool has_role(const Substitution& rule, RuleRole role) {
  return std::find(rule.roles.begin(), rule.roles.end(), role) != rule.roles.end();
}

namespace {

// ---- Operators of a side ------------------------------------------------------------------------

using OperatorCounts = std::map<OperatorId, std::size_t>;

bool is_same_node(const RuleTerm& a, const RuleTerm& b) {
  return std::tie(a.op, a.attributes, a.operands) == std::tie(b.op, b.attributes, b.operands);
}

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

/// One term of each operation that a side has.
std::vector<TermId> nodes_of(const Substitution& rule, std::span<const TermId> side) {
  std::vector<TermId> nodes;
  for (const TermId id : detail::reachable_terms(rule, side)) {
    const RuleTerm& term = rule.terms[id.v];
    const auto is_known = [&](TermId other) { return is_same_node(rule.terms[other.v], term); };
    if (!term.is_input && std::none_of(nodes.begin(), nodes.end(), is_known)) nodes.push_back(id);
  }
  return nodes;
}

/// How many nodes of each operator a side has, not counting what is computed from weights alone.
OperatorCounts count_operators(const Substitution& rule, std::span<const TermId> side) {
  const std::vector<char> weights = weight_only_terms(rule);
  OperatorCounts counts;
  for (const TermId node : nodes_of(rule, side))
    if (weights[node.v] == 0) ++counts[rule.terms[node.v].op];
  return counts;
}

std::size_t total(const OperatorCounts& counts) {
  std::size_t sum = 0;
  for (const auto& [op, count] : counts) sum += count;
  return sum;
}

bool has_weights(const Substitution& rule) {
  return std::any_of(rule.inputs.begin(), rule.inputs.end(),
                     [](const RuleInput& input) { return input.weight; });
}

/// Whether an operator is in the standard form of every operator set that models are written in.
bool is_common(OperatorId op) {
  constexpr int oldest_set = 9;
  const auto& mappings = record(op).onnx;
  return std::any_of(mappings.begin(), mappings.end(), [](const OnnxMapping& mapping) {
    return mapping.domain.empty() && mapping.runtime.empty() && !mapping.import_only &&
           mapping.since <= oldest_set && mapping.until >= 1000;
  });
}

// ---- Simplification -----------------------------------------------------------------------------

/// A rule read in one of the directions in which it may be used.
struct Direction {
  std::span<const TermId> from, to;
};

std::vector<Direction> directions_of(const Substitution& rule) {
  std::vector<Direction> result = {{rule.left, rule.right}};
  if (rule.bidirectional && !rule.search_forward) result.push_back({rule.right, rule.left});
  return result;
}

/// Each operator occurs at most as often as before, and one less often.
bool leaves_out(const Substitution& rule, const Direction& direction) {
  const OperatorCounts before = count_operators(rule, direction.from),
                       after = count_operators(rule, direction.to);
  const auto is_there = [&before](const auto& entry) {
    const auto count = before.find(entry.first);
    return count != before.end() && entry.second <= count->second;
  };
  return before != after && std::all_of(after.begin(), after.end(), is_there);
}

/// The same where one of several inputs is known when the model is written.
bool leaves_out_at_weights(const Substitution& rule, const Direction& direction) {
  for (std::size_t i = 0; rule.inputs.size() > 1 && i < rule.inputs.size(); ++i) {
    if (rule.inputs[i].weight) continue;
    Substitution at_weights = rule;
    at_weights.inputs[i].weight = true;
    if (leaves_out(at_weights, direction)) return true;
  }
  return false;
}

/// A few operators become fewer, of common kinds. (What replaces many is found by a search, not by simplification.)
bool joins(const Substitution& rule, const Direction& direction) {
  constexpr std::size_t most_operators = 3;
  const OperatorCounts before = count_operators(rule, direction.from),
                       after = count_operators(rule, direction.to);
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
    return total(counts) == 1 && record(counts.begin()->first).has(view);
  };
  return is_one_view(before) && is_one_view(after) && is_common(after.begin()->first);
}

/// Operators that rules make part of another one together with weights.
std::set<OperatorId> absorbed_operators(std::span<const Substitution> rules) {
  std::set<OperatorId> absorbed;
  for (const Substitution& rule : rules) {
    if (!has_weights(rule)) continue;
    for (const Direction& direction : directions_of(rule)) {
      const OperatorCounts after = count_operators(rule, direction.to);
      if (after.empty() || !leaves_out(rule, direction)) continue;
      for (const auto& [op, count] : count_operators(rule, direction.from))
        if (!after.contains(op)) absorbed.insert(op);
    }
  }
  return absorbed;
}

/// The rule has one operator on weights on the left, and several on the right that other rules absorb.
bool takes_apart(const Substitution& rule, const std::set<OperatorId>& absorbed) {
  const OperatorCounts before = count_operators(rule, rule.left),
                       after = count_operators(rule, rule.right);
  return total(before) == 1 && after.size() > 1 && has_weights(rule) &&
         std::all_of(after.begin(), after.end(),
                     [&](const auto& entry) { return absorbed.contains(entry.first); });
}

bool simplifies(const Substitution& rule, const std::set<OperatorId>& absorbed) {
  for (const Direction& direction : directions_of(rule))
    if (leaves_out(rule, direction) || leaves_out_at_weights(rule, direction) ||
        joins(rule, direction))
      return true;
  return spells_view(rule) || takes_apart(rule, absorbed);
}

// ---- Recurrences --------------------------------------------------------------------------------

bool is_recurrence(const RuleTerm& term) {
  return !term.is_input && record(term.op).has(recurrent);
}

bool has_recurrences(const Substitution& rule) {
  return std::any_of(rule.terms.begin(), rule.terms.end(), is_recurrence);
}

/// The nodes of a side, and how many of them are recurrent operators.
std::pair<std::size_t, std::size_t> count_recurrences(const Substitution& rule,
                                                      std::span<const TermId> side) {
  const std::vector<TermId> nodes = nodes_of(rule, side);
  const auto recurrences = std::count_if(
      nodes.begin(), nodes.end(), [&rule](TermId id) { return is_recurrence(rule.terms[id.v]); });
  return {nodes.size(), static_cast<std::size_t>(recurrences)};
}

/// One recurrent operator and nothing else becomes one, and what is read off it.
bool reads_results(const Substitution& rule) {
  return count_recurrences(rule, rule.left) == std::pair<std::size_t, std::size_t>{1, 1} &&
         count_recurrences(rule, rule.right).second == 1;
}

/// Whether some term may be an instance of both: operators are the same where both have one.
bool may_be_alike(const Substitution& rule, TermId a, const Substitution& other, TermId b) {
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  const RuleTerm &x = rule.terms[a.v], &y = other.terms[b.v];
  if (x.is_input || y.is_input) return true;
  if (x.op != y.op || x.operands.size() != y.operands.size()) return false;
  for (std::size_t i = 0; i < x.operands.size(); ++i)
    if (!may_be_alike(rule, x.operands[i], other, y.operands[i])) return false;
  return true;
}

/// The number of operators, not counting inputs; a term that is used twice counts twice.
std::size_t operators_of(const Substitution& rule, TermId id) {
  if (id.is_none() || rule.terms[id.v].is_input) return 0;
  std::size_t result = 1;
  for (const TermId operand : rule.terms[id.v].operands) result += operators_of(rule, operand);
  return result;
}

}  // namespace

bool makes_form(const Substitution& rule, std::span<const Substitution* const> recurrences) {
  constexpr std::size_t fewest = 3;
  if (rule.right.size() != 1 || operators_of(rule, rule.right.front()) < fewest) return false;
  return std::any_of(recurrences.begin(), recurrences.end(), [&](const Substitution* other) {
    for (const TermId part : detail::reachable_terms(*other, other->left))
      if (operators_of(*other, part) >= fewest &&
          may_be_alike(rule, rule.right.front(), *other, part))
        return true;
    return false;
  });
}

namespace {

// ---- Layouts and runtimes -----------------------------------------------------------------------

bool is_about_layout(const Substitution& rule) {
  return std::any_of(rule.terms.begin(), rule.terms.end(), [](const RuleTerm& term) {
    return !term.is_input && is_of_layout(record(term.op));
  });
}

std::set<OperatorId> operators_below(const Substitution& rule, std::span<const TermId> side) {
  std::set<OperatorId> result;
  for (const TermId id : detail::reachable_terms(rule, side))
    if (!rule.terms[id.v].is_input) result.insert(rule.terms[id.v].op);
  return result;
}

/// A runtime that has the operator in operator sets of ONNX that do not have it; empty if there is none.
std::string_view runtime_with_forms_of(OperatorId op) {
  for (const OnnxMapping& mapping : record(op).onnx)
    if (!mapping.runtime.empty()) return mapping.runtime;
  return "";
}

}  // namespace

std::set<std::string_view> runtimes_of(const Substitution& rule) {
  std::set<std::string_view> result;
  for (const RuleTerm& term : rule.terms)
    if (!term.is_input) result.insert(record(term.op).runtime);
  const std::set<OperatorId> left = operators_below(rule, rule.left),
                             right = operators_below(rule, rule.right);
  for (const OperatorId op : right)
    if (!left.contains(op)) result.insert(runtime_with_forms_of(op));
  for (const OperatorId op : left)
    if (rule.bidirectional && !right.contains(op)) result.insert(runtime_with_forms_of(op));
  result.erase("");
  return result;
}

namespace {

/// What is known of a list of rules before the roles of its members are inferred.
struct Others {
  std::vector<const Substitution*>
      recurrences;  // those that state or suggest the role `recurrence`
  std::set<OperatorId> absorbed;
};

/// A rule for recurrences has a recurrent operator, and says which side is meant to replace the other one.
bool is_for_recurrences(const Substitution& rule) {
  return rule.search_forward && has_recurrences(rule) && !reads_results(rule);
}

/// The criterion for rules that state no role. It looks for each role at what the rule's terms are made of:
/// - `layout`: an operator that stands for the costs of a layout;
/// - `runtime`: an operator, or a spelling of one, that a runtime alone has;
/// - `recurrence`, `recurrence_results`, `recurrence_form`: is_for_recurrences(), reads_results(), makes_form(), where
///   `search forward` says which side replaces the other one;
/// - `simplification`: simplifies();
/// - `general`: none of these.
std::vector<RuleRole> suggested_roles(const Substitution& rule, const Others& others) {
  std::vector<RuleRole> roles;
  const auto add_if = [&roles](bool suggested, RuleRole role) {
    if (suggested) roles.push_back(role);
  };
  const bool about_layout = is_about_layout(rule);
  const bool forward = rule.search_forward, recurrent = has_recurrences(rule);
  add_if(simplifies(rule, others.absorbed), RuleRole::simplification);
  add_if(!about_layout && !runtimes_of(rule).empty(), RuleRole::runtime);
  add_if(about_layout, RuleRole::layout);
  add_if(forward && !recurrent && makes_form(rule, others.recurrences), RuleRole::recurrence_form);
  add_if(is_for_recurrences(rule), RuleRole::recurrence);
  add_if(forward && recurrent && reads_results(rule), RuleRole::recurrence_results);
  add_if(roles.empty(), RuleRole::general);
  return roles;
}

}  // namespace

std::vector<Substitution> with_roles(std::span<const Substitution> rules) {
  std::vector<Substitution> result(rules.begin(), rules.end());
  if (std::none_of(rules.begin(), rules.end(),
                   [](const Substitution& rule) { return rule.roles.empty(); }))
    return result;
  Others others;
  others.absorbed = absorbed_operators(rules);
  for (const Substitution& rule : rules)
    if (rule.roles.empty() ? is_for_recurrences(rule) : has_role(rule, RuleRole::recurrence))
      others.recurrences.push_back(&rule);
  for (Substitution& rule : result)
    if (rule.roles.empty()) rule.roles = suggested_roles(rule, others);
  return result;
}

}  // namespace lemma
