#include "egraph/rule_use.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <tuple>

#include "rule_language/rule_cases.h"
#include "rule_language/substitution_analysis.h"

namespace lemma {
namespace {

using InputSet = std::uint32_t;

/// A direction whose right side costs this much more is used still: it may lead to others that save.
/// TASO's search allows as much (Jia et al., SOSP 2019, section 6: alpha).
constexpr double slack = 1.05;

/// Terms that `roots` need, operands first.
std::vector<TermId> terms_below(const Substitution& rule, const std::vector<TermId>& roots) {
  const std::vector<char> needed = needed_terms(rule, roots);
  std::vector<TermId> result;
  for (std::uint32_t i = 0; i < needed.size(); ++i)
    if (needed[i] != 0) result.push_back({i});
  return result;
}

/// For each term the inputs it is computed from.
std::vector<InputSet> inputs_below(const Substitution& rule) {
  std::vector<InputSet> result(rule.terms.size(), 0);
  for (std::size_t i = 0; i < rule.terms.size(); ++i) {
    const RuleTerm& term = rule.terms[i];
    if (term.is_input) result[i] = InputSet{1} << term.input;
    for (const TermId operand : term.operands)
      if (!operand.is_none()) result[i] |= result[operand.v];
  }
  return result;
}

bool same_node(const RuleTerm& a, const RuleTerm& b) {
  return std::tie(a.op, a.attributes, a.operands) == std::tie(b.op, b.attributes, b.operands);
}

class Side {
 public:
  Side(const Substitution& rule, const std::vector<TermId>& roots, const TermCosts& costs)
      : situations_(costs.size()) {
    const std::vector<InputSet> inputs = inputs_below(rule);
    for (const TermId root : roots) roots_.push_back(inputs[root.v]);
    std::vector<const RuleTerm*> seen;
    for (const TermId id : terms_below(rule, roots)) {
      const RuleTerm& term = rule.terms[id.v];
      // Outputs of one node count once.
      if (term.is_input || std::any_of(seen.begin(), seen.end(), [&term](const RuleTerm* other) {
            return same_node(*other, term);
          }))
        continue;
      seen.push_back(&term);
      PricedNode node{inputs[id.v], {}};
      for (const std::vector<double>& situation_costs : costs)
        node.costs.push_back(situation_costs[id.v]);
      nodes_.push_back(std::move(node));
    }
  }

  std::size_t situations() const { return situations_; }

  /// What is left to do where `weights` are known ahead of time.
  double cost(InputSet weights, std::size_t situation) const {
    double result = 0;
    for (const PricedNode& node : nodes_)
      if ((node.inputs & ~weights) != 0) result += node.costs[situation];
    return result;
  }

  bool is_known_ahead(InputSet weights) const {
    return std::all_of(roots_.begin(), roots_.end(),
                       [weights](InputSet inputs) { return (inputs & ~weights) == 0; });
  }

 private:
  struct PricedNode {
    InputSet inputs = 0;
    std::vector<double> costs;  // by situation
  };
  std::size_t situations_;
  std::vector<InputSet> roots_;
  std::vector<PricedNode> nodes_;
};

bool pays(const Side& left, const Side& right, InputSet weights) {
  for (std::size_t i = 0; i < left.situations(); ++i)
    if (right.cost(weights, i) <= slack * left.cost(weights, i)) return true;
  return false;
}

bool saves(const Side& left, const Side& right, InputSet weights) {
  for (std::size_t i = 0; i < left.situations(); ++i)
    if (right.cost(weights, i) < (1 - 1e-9) * left.cost(weights, i)) return true;
  return false;
}

InputSet marked(const Substitution& rule) {
  InputSet result = 0;
  for (std::size_t i = 0; i < rule.inputs.size(); ++i)
    if (rule.inputs[i].weight) result |= InputSet{1} << i;
  return result;
}

/// The smallest sets of inputs with which the right side costs no more if they are weights; if the
/// rule marks inputs itself, these.
std::vector<InputSet> choices_of_weights(const Substitution& rule, const Side& left,
                                         const Side& right) {
  constexpr std::size_t most_inputs = 10;
  const std::size_t count = rule.inputs.size();
  const InputSet given = marked(rule);
  if (count > most_inputs || given != 0) return {given};
  std::vector<InputSet> result;
  int size = -1;
  std::vector<InputSet> all;
  for (InputSet set = 0; set < InputSet{1} << count; ++set) all.push_back(set);
  std::stable_sort(all.begin(), all.end(),
                   [](InputSet a, InputSet b) { return std::popcount(a) < std::popcount(b); });
  for (const InputSet set : all) {
    if (size >= 0 && std::popcount(set) > size) break;
    if (left.is_known_ahead(set) && set != 0) continue;
    if (!pays(left, right, set)) continue;
    size = std::popcount(set);
    result.push_back(set);
  }
  return result;
}

void add_direction(const Substitution& rule, bool backward, const TermCosts& costs,
                   std::vector<RuleUse>& uses) {
  const Side left(rule, backward ? rule.right : rule.left, costs);
  const Side right(rule, backward ? rule.left : rule.right, costs);
  const Substitution directed = backward ? reversed(rule) : rule;
  // What a division into parts costs depends on how many they are, which no typical application says.
  const std::vector<InputSet> choices = detail::takes_free_values(directed)
                                            ? std::vector<InputSet>{marked(rule)}
                                            : choices_of_weights(rule, left, right);
  for (const InputSet weights : choices) {
    RuleUse use{directed, backward, saves(left, right, weights)};
    for (std::size_t i = 0; i < rule.inputs.size(); ++i)
      use.rule.inputs[i].weight = ((weights >> i) & 1U) != 0;
    uses.push_back(std::move(use));
  }
}

/// The operation that computes each term of a typical application; nothing for inputs.
struct TypicalApplication {
  Graph graph;
  std::vector<NodeId> nodes;  // by term
};

std::optional<TypicalApplication> typical_application(const Substitution& rule) {
  const auto example = example_case(rule);
  if (!example) return std::nullopt;
  TypicalApplication result;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < rule.inputs.size(); ++i)
    inputs.push_back(*result.graph.add_input(rule.inputs[i].name, example->inputs[i]));
  std::vector<TermId> terms;
  for (std::uint32_t i = 0; i < rule.terms.size(); ++i) terms.push_back({i});
  const auto values = instantiate(rule, terms, inputs, example->bindings, result.graph);
  if (!values) return std::nullopt;
  for (const ValueId value : *values) result.nodes.push_back(result.graph.producer(value));
  return result;
}

}  // namespace

TermCosts unit_costs(const Substitution& rule) {
  std::vector<double> result;
  for (const RuleTerm& term : rule.terms) {
    if (term.is_input) {
      result.push_back(0);
      continue;
    }
    const OperatorRecord& op = record(term.op);
    const bool contracts =
        op.has(linear) && !op.has(elementwise) && !op.has(data_movement) && op.inputs.minimum >= 2;
    result.push_back(op.has(view) ? 0 : contracts ? 2 : 1);
  }
  return {std::move(result)};
}

TermCosts term_costs(const Substitution& rule, std::span<const OperationCost> situations) {
  const auto typical = situations.empty() ? std::nullopt : typical_application(rule);
  if (!typical) return unit_costs(rule);
  TermCosts result(situations.size());
  for (const NodeId id : typical->nodes) {
    const Node& node = typical->graph.node(id);
    if (node.kind != NodeKind::operation) {
      for (std::vector<double>& situation_costs : result) situation_costs.push_back(0);
      continue;
    }
    const std::vector<TensorType> inputs = typical->graph.input_types(node);
    const std::vector<TensorType> outputs = typical->graph.output_types(node);
    const Instance instance{inputs, node.attributes, node.output_count};
    for (std::size_t i = 0; i < situations.size(); ++i)
      result[i].push_back(situations[i](typical->graph.op(node), instance, outputs));
  }
  return result;
}

std::vector<RuleUse> uses_of(const Substitution& rule, const TermCosts& costs) {
  std::vector<RuleUse> result;
  add_direction(rule, false, costs, result);
  if (rule.bidirectional && !rule.search_forward) add_direction(rule, true, costs, result);
  return result;
}

Result<CompiledUses> compile_uses(std::span<const Substitution> rules,
                                  std::span<const OperationCost> situations,
                                  const RuleNames& bitwise,
                                  std::span<const std::int64_t> target_values) {
  CompiledUses result;
  for (const Substitution& rule : rules)
    for (const RuleUse& use : uses_of(rule, term_costs(rule, situations))) {
      auto compiled = compile_rule(use.rule);
      if (!compiled && rule.bidirectional) continue;
      if (!compiled) return tl::unexpected(compiled.error());
      compiled->backward = use.backward;
      compiled->bitwise = bitwise.contains(rule.name);
      compiled->target_values.assign(target_values.begin(), target_values.end());
      result.rules.push_back(std::move(*compiled));
      result.saves.push_back(use.saves);
    }
  return result;
}

}  // namespace lemma
