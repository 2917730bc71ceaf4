#include "egraph/rule_use.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <tuple>

namespace lemma {
namespace {

using InputSet = std::uint32_t;

/// Kernels of one operator: a product counts as two, since what it computes grows faster than what
/// it reads.
int kernels(const OperatorRecord& record) {
  if (record.has(view)) return 0;
  const bool contracts = record.has(linear) && !record.has(elementwise) &&
                         !record.has(data_movement) && record.inputs.minimum >= 2;
  return contracts ? 2 : 1;
}

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
  Side(const Substitution& rule, const std::vector<TermId>& roots) {
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
      nodes_.push_back({kernels(record(term.op)), inputs[id.v]});
    }
  }

  /// What is left to do where `weights` are known ahead of time.
  int cost(InputSet weights) const {
    int result = 0;
    for (const auto& [kernels, inputs] : nodes_)
      if ((inputs & ~weights) != 0) result += kernels;
    return result;
  }

  bool is_known_ahead(InputSet weights) const {
    return std::all_of(roots_.begin(), roots_.end(),
                       [weights](InputSet inputs) { return (inputs & ~weights) == 0; });
  }

 private:
  struct CountedNode {
    int kernels = 0;
    InputSet inputs = 0;
  };
  std::vector<InputSet> roots_;
  std::vector<CountedNode> nodes_;
};

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
    if (right.cost(set) > left.cost(set)) continue;
    size = std::popcount(set);
    result.push_back(set);
  }
  return result;
}

void add_direction(const Substitution& rule, bool backward, std::vector<RuleUse>& uses) {
  const Side left(rule, rule.left), right(rule, rule.right);
  for (const InputSet weights : choices_of_weights(rule, left, right)) {
    RuleUse use{rule, backward, right.cost(weights) < left.cost(weights)};
    for (std::size_t i = 0; i < rule.inputs.size(); ++i)
      use.rule.inputs[i].weight = ((weights >> i) & 1U) != 0;
    uses.push_back(std::move(use));
  }
}

}  // namespace

std::vector<RuleUse> uses_of(const Substitution& rule) {
  std::vector<RuleUse> result;
  add_direction(rule, false, result);
  if (rule.bidirectional && !rule.search_forward) add_direction(reversed(rule), true, result);
  return result;
}

Result<CompiledUses> compile_uses(std::span<const Substitution> rules, const RuleNames& bitwise) {
  CompiledUses result;
  for (const Substitution& rule : rules)
    for (const RuleUse& use : uses_of(rule)) {
      auto compiled = compile_rule(use.rule);
      if (!compiled && rule.bidirectional) continue;
      if (!compiled) return tl::unexpected(compiled.error());
      compiled->backward = use.backward;
      compiled->bitwise = bitwise.contains(rule.name);
      result.rules.push_back(std::move(*compiled));
      result.saves.push_back(use.saves);
    }
  return result;
}

}  // namespace lemma
