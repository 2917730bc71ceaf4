#include "egraph/obligations.h"

#include <algorithm>

#include <absl/container/inlined_vector.h>

namespace lemma {
namespace {

template <typename Property>
bool all_facts(const EGraph& egraph, ClassId id, Property property) {
  const std::vector<ValueFacts>& facts = egraph.facts(id);
  return std::all_of(facts.begin(), facts.end(), property);
}

bool is_finite(const EGraph& egraph, ClassId id) {
  return all_facts(egraph, id, [](const ValueFacts& facts) { return facts.finite(); });
}

}  // namespace

bool is_defined(const EGraph& egraph, ClassId id) {
  return all_facts(egraph, id, [](const ValueFacts& facts) { return facts.defined; });
}

UnionObligations obligations_at(const EGraph& egraph, const CompiledRule& rule,
                                std::span<const ClassId> match) {
  const auto inputs = match.first(rule.rule.inputs.size());
  const auto left = match.subspan(rule.rule.inputs.size());
  UnionObligations result{true, rule.rule.bidirectional, true,
                          rule.bitwise || !rule.adds_quotients};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (rule.rule.inputs[i].defined && !is_defined(egraph, inputs[i]))
      result.inputs_defined = false;
    if (!rule.bitwise && !is_finite(egraph, inputs[i])) result.bits_may_change = false;
  }
  if (!result.left_defined || !result.sums_stay) {
    const bool defined =
        std::all_of(left.begin(), left.end(), [&](ClassId id) { return is_defined(egraph, id); });
    result.left_defined = result.left_defined || defined;
    result.sums_stay = result.sums_stay || defined;
  }
  if (!rule.bitwise &&
      std::any_of(left.begin(), left.end(), [&](ClassId id) { return egraph.is_observed(id); }))
    result.bits_may_change = false;
  return result;
}

bool reads_stay_inside(EGraph& egraph, const BoundRule& bound, std::span<const ClassId> match) {
  const auto outside = [&](const BuildStep& step) { return egraph.may_read_outside(step.form); };
  if (std::none_of(bound.steps.begin(), bound.steps.end(), outside)) return true;
  std::vector<FactsId> facts;
  std::vector<std::uint32_t> identities;
  for (const ClassId id : match) {
    facts.push_back(egraph.facts_id(id));
    identities.push_back(egraph.find(id).v);
  }
  constexpr std::uint32_t none = 0xffffffffU;
  for (const BuildStep& step : bound.steps) {
    absl::InlinedVector<FactsId, 4> operands;
    absl::InlinedVector<std::uint32_t, 4> same;
    for (const std::uint32_t slot : step.operands) {
      const bool absent = slot == BuildStep::absent_slot;
      operands.push_back(absent ? FactsId{} : facts[slot]);
      same.push_back(absent ? none : identities[slot]);
    }
    const FactsId result = egraph.facts_of(step.form, operands, same, Reads::must_be_shown);
    const std::vector<ValueFacts>& known = egraph.facts(result);
    if (outside(step) &&
        !std::all_of(known.begin(), known.end(),
                     [](const ValueFacts& value_facts) { return value_facts.defined; }))
      return false;
    facts.push_back(result);
    identities.push_back(none - 1 - static_cast<std::uint32_t>(facts.size()));
  }
  return true;
}

}  // namespace lemma
