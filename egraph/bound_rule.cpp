// What follows from the forms of matched nodes.

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "egraph/match.h"
#include "rule_language/free_parameters.h"

namespace lemma {

namespace {

/// Undefined for absent ones, as rules want them.
std::vector<TensorType> operand_types(const EGraph& egraph, FormId form) {
  std::vector<TensorType> result;
  for (const TypeId type : egraph.operand_types(form))
    result.push_back(type == EGraph::absent_type ? TensorType{} : egraph.type(type));
  return result;
}

/// The attributes by term; nothing if one cannot be evaluated.
std::optional<std::vector<Attributes>> attributes_of_terms(const Substitution& rule,
                                                           const RuleBindings& bindings) {
  std::vector<Attributes> result(rule.terms.size());
  for (std::size_t i = 0; i < rule.terms.size(); ++i) {
    if (rule.terms[i].is_input) continue;
    auto evaluated = evaluate_attributes(rule.terms[i], bindings);
    if (!evaluated) return std::nullopt;
    result[i] = std::move(*evaluated);
  }
  return result;
}

}  // namespace

bool RuleMatcher::shape_fits(const EGraph& egraph, std::uint32_t input, TypeId type) {
  std::vector<Known>& known = shapes_[input];
  if (known.size() <= type.v) known.resize(type.v + 1, Known::nothing);
  if (known[type.v] == Known::nothing) {
    RuleBindings alone;
    const TensorType& tensor = egraph.type(type);
    const bool fits = tensor.is_known() && match_shape(rule_->rule, input, *tensor.shape, alone);
    known[type.v] = fits ? Known::fits : Known::differs;
  }
  return known[type.v] == Known::fits;
}

bool RuleMatcher::attributes_fit(const EGraph& egraph, std::size_t pattern_node,
                                 const ENode& node) {
  std::vector<Known>& known = attributes_[pattern_node];
  if (known.size() <= node.payload) known.resize(node.payload + 1, Known::nothing);
  if (known[node.payload] == Known::nothing) {
    RuleBindings alone;
    const RuleTerm& term = rule_->rule.terms[rule_->nodes[pattern_node].term.v];
    known[node.payload] =
        match_attributes(term, egraph.attributes(node), alone) ? Known::fits : Known::differs;
  }
  return known[node.payload] == Known::fits;
}

/// Whether nodes of a form can stand for a pattern node, as far as that alone tells.
bool RuleMatcher::fits(const EGraph& egraph, std::size_t pattern_node, FormId form) {
  const PatternNode& pattern = rule_->nodes[pattern_node];
  const ENode& node = egraph.node_of(form);
  if (node.kind != pattern.kind) return false;
  if (node.kind == ENodeKind::projection)
    return node.payload == pattern.output &&
           egraph.operand_types(form).size() == pattern.operands.size();
  if (node.op != pattern.op || node.output_count != pattern.output_count) return false;
  const auto operands = egraph.operand_types(form);
  if (operands.size() != pattern.operands.size()) return false;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const std::uint32_t variable = pattern.operands[k];
    const bool absent = operands[k] == EGraph::absent_type;
    if (absent != (variable == PatternNode::absent_operand)) return false;
    const auto input =
        std::find(rule_->input_variables.begin(), rule_->input_variables.end(), variable);
    if (absent || input == rule_->input_variables.end()) continue;
    const auto position = static_cast<std::uint32_t>(input - rule_->input_variables.begin());
    if (!shape_fits(egraph, position, operands[k])) return false;
  }
  return attributes_fit(egraph, pattern_node, node);
}

std::uint32_t RuleMatcher::bind(EGraph& egraph, const Key& key) {
  const auto [where, inserted] = bound_by_forms_.try_emplace(key, unbound);
  if (!inserted) return where->second;
  std::vector<std::unique_ptr<BoundRule>> ways = try_bind(egraph, key);
  if (ways.empty()) return unbound;
  ways.front()->others = static_cast<std::uint32_t>(ways.size() - 1);
  const auto first = static_cast<std::uint32_t>(bound_.size());
  std::ranges::move(ways, std::back_inserter(bound_));
  return where->second = first;
}

std::vector<RuleBindings> RuleMatcher::bindings_of(std::span<const TensorType* const> inputs,
                                                   std::span<const MatchedNode> matched) const {
  if (rule_->takes_free_values)
    return bind_freely(rule_->rule, inputs, matched, rule_->target_values);
  std::vector<RuleBindings> result(1);
  if (!bind_variables(rule_->rule, inputs, matched, result.front())) result.clear();
  return result;
}

std::vector<std::unique_ptr<BoundRule>> RuleMatcher::try_bind(EGraph& egraph,
                                                              const Key& key) const {
  const Substitution& rule = rule_->rule;
  std::vector<TypeId> types(rule_->variable_count);
  std::vector<std::vector<TensorType>> inputs_of(key.size());
  std::vector<MatchedNode> matched;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const PatternNode& pattern = rule_->nodes[i];
    const FormId form{key[i]};
    types[pattern.result] = egraph.type_of(form);
    const auto operands = egraph.operand_types(form);
    for (std::size_t k = 0; k < operands.size(); ++k)
      if (operands[k] != EGraph::absent_type) types[pattern.operands[k]] = operands[k];
    if (pattern.kind != ENodeKind::operation) continue;
    inputs_of[i] = operand_types(egraph, form);
    matched.push_back({pattern.term, &egraph.attributes(egraph.node_of(form)), inputs_of[i]});
  }
  std::vector<const TensorType*> inputs;
  for (const std::uint32_t variable : rule_->input_variables)
    inputs.push_back(&egraph.type(types[variable]));
  std::vector<std::unique_ptr<BoundRule>> ways;
  for (RuleBindings& bindings : bindings_of(inputs, matched)) {
    std::optional<std::vector<Attributes>> attributes = attributes_of_terms(rule, bindings);
    if (!attributes) continue;
    auto way = std::make_unique<BoundRule>();
    way->bindings = std::move(bindings);
    plan_right_side(egraph, types, *attributes, *way);
    // A right side that is not well typed is counted where it would be used; a value that gives none is left out.
    if (way->well_typed || !rule_->takes_free_values) ways.push_back(std::move(way));
  }
  return ways;
}

// ---- The right side ---------------------------------------------------------------------------

void RuleMatcher::plan_right_side(EGraph& egraph, const std::vector<TypeId>& variable_types,
                                  std::vector<Attributes>& attributes, BoundRule& bound) const {
  const Substitution& rule = rule_->rule;
  const std::vector<char> needed = needed_terms(rule, rule.right);
  const std::size_t input_count = rule_->input_variables.size();
  std::vector<std::uint32_t> slots(rule.terms.size(), BuildStep::absent_slot);
  std::vector<TypeId> types(input_count + rule_->left_variables.size());  // by slot
  for (std::size_t i = 0; i < input_count; ++i)
    types[i] = variable_types[rule_->input_variables[i]];
  const auto add = [&](FormId form, absl::InlinedVector<std::uint32_t, 4> operands) {
    bound.steps.push_back({form, std::move(operands), BuildStep::absent_slot});
    types.push_back(egraph.type_of(form));
    return static_cast<std::uint32_t>(types.size() - 1);
  };
  for (std::size_t i = 0; i < rule.terms.size(); ++i) {
    if (needed[i] == 0) continue;
    const RuleTerm& term = rule.terms[i];
    if (term.is_input) {
      slots[i] = term.input;
      continue;
    }
    absl::InlinedVector<std::uint32_t, 4> operands;
    for (const TermId operand : term.operands)
      operands.push_back(operand.is_none() ? BuildStep::absent_slot : slots[operand.v]);
    while (!operands.empty() && operands.back() == BuildStep::absent_slot) operands.pop_back();
    absl::InlinedVector<TypeId, 4> operand_types;
    for (const std::uint32_t operand : operands)
      operand_types.push_back(operand == BuildStep::absent_slot ? EGraph::absent_type
                                                                : types[operand]);
    const EGraph::Inferred& inferred = egraph.infer(
        term.op, operand_types, egraph.intern(std::move(attributes[i])), term.output_count);
    if (!inferred.valid) return;
    slots[i] = add(inferred.form, std::move(operands));
    if (term.output_count > 1)
      slots[i] = add(egraph.projection_form(types[slots[i]], term.output), {slots[i]});
  }
  for (std::size_t k = 0; k < rule.right.size(); ++k) {
    const std::uint32_t slot = slots[rule.right[k].v];
    if (types[slot] != variable_types[rule_->left_variables[k]]) return;
    bound.right.push_back(slot);
    if (slot >= input_count) {
      std::uint32_t& home = bound.steps[slot - input_count - rule_->left_variables.size()].home;
      if (home == BuildStep::absent_slot) home = static_cast<std::uint32_t>(input_count + k);
    }
  }
  bound.well_typed = true;
}

void RuleMatcher::prefetch(const EGraph& egraph, std::span<const ClassId> match,
                           std::uint32_t bound) const {
  if (bound_[bound]->steps.empty()) return;
  const BuildStep& step = bound_[bound]->steps.front();
  absl::InlinedVector<ClassId, 4> operands;
  for (const std::uint32_t slot : step.operands)
    operands.push_back(slot == BuildStep::absent_slot ? ClassId::none() : egraph.find(match[slot]));
  (void)egraph.prefetch(step.form, operands);
}

bool RuleMatcher::instantiate(EGraph& egraph, std::span<const ClassId> match,
                              std::uint32_t bound_number, std::vector<ClassId>& right) const {
  const BoundRule& bound = *bound_[bound_number];
  if (!bound.well_typed) return false;
  absl::InlinedVector<ClassId, 16> values(match.begin(), match.end());
  absl::InlinedVector<ClassId, 4> operands;
  for (const BuildStep& step : bound.steps) {
    operands.clear();
    for (const std::uint32_t slot : step.operands)
      operands.push_back(slot == BuildStep::absent_slot ? ClassId::none() : values[slot]);
    const ClassId home = step.home == BuildStep::absent_slot ? ClassId::none() : match[step.home];
    values.push_back(egraph.add(step.form, operands, home));
  }
  right.clear();
  for (const std::uint32_t slot : bound.right) right.push_back(values[slot]);
  return true;
}

}  // namespace lemma
