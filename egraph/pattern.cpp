#include "egraph/pattern.h"

#include <algorithm>

namespace lemma {

/// One walk along a plan, backtracking. The depth of the recursion is the size of the pattern.
struct RuleMatcher::Search {
  RuleMatcher& matcher;
  EGraph& egraph;
  std::uint32_t since;
  std::size_t limit;
  const std::function<bool()>& interrupted;
  std::vector<Match>& matches;

  const CompiledRule& rule;
  std::vector<ClassId> classes;  // by variable; none while unknown
  std::vector<ENodeId> nodes;    // by pattern node
  std::uint32_t start = 0;       // the pattern node that must be new
  std::size_t steps = 0;
  bool stopped = false;

  void run() {
    for (start = 0; start < rule.nodes.size() && !stopped; ++start) step(0);
  }

  void step(std::size_t position) {
    const std::vector<MatchStep>& plan = rule.plans[start];
    if (position == plan.size()) {
      found();
      return;
    }
    const MatchStep& next = plan[position];
    const PatternNode& pattern = rule.nodes[next.node];
    const std::vector<ENodeId>& candidates = candidates_of(next, pattern);
    for (std::size_t i = 0; i < candidates.size() && !stopped; ++i) {
      if ((++steps & 0xfffU) == 0 && interrupted()) stopped = true;
      try_node(position, next, pattern, candidates[i]);
    }
  }

  const std::vector<ENodeId>& candidates_of(const MatchStep& next, const PatternNode& pattern) {
    static const std::vector<ENodeId> none;
    switch (next.way) {
      case MatchStep::Way::down: return egraph.nodes(classes[pattern.result]);
      case MatchStep::Way::up: return egraph.parents(classes[pattern.operands[next.operand]]);
      case MatchStep::Way::scan: break;
    }
    if (pattern.kind == ENodeKind::projection) return egraph.projections();
    return egraph.nodes_of(pattern.op);
  }

  bool fits(const MatchStep& next, const PatternNode& pattern, ENodeId id) const {
    const ENode& node = egraph.node(id);
    if (node.kind != pattern.kind || node.child_count != pattern.operands.size()) return false;
    if (node.kind == ENodeKind::projection
            ? node.payload != pattern.output
            : node.op != pattern.op || node.output_count != pattern.output_count)
      return false;
    const bool is_new = node.stamp > since;
    return next.node > start || is_new == (next.node == start);
  }

  void try_node(std::size_t position, const MatchStep& next, const PatternNode& pattern,
                ENodeId id) {
    if (!fits(next, pattern, id)) return;
    absl::InlinedVector<std::uint32_t, 4> entered;
    const auto enter = [&](std::uint32_t variable, ClassId value) {
      if (!classes[variable].is_none()) return classes[variable] == value;
      classes[variable] = value;
      entered.push_back(variable);
      return true;
    };
    bool agrees = enter(pattern.result, egraph.find(id.founded()));
    const auto children = egraph.children(id);
    for (std::size_t k = 0; agrees && k < children.size(); ++k) {
      if (pattern.operands[k] == PatternNode::absent_operand)
        agrees = children[k].is_none();
      else
        agrees = !children[k].is_none() && enter(pattern.operands[k], children[k]);
    }
    if (agrees) {
      nodes[next.node] = id;
      step(position + 1);
    }
    for (const std::uint32_t variable : entered) classes[variable] = ClassId::none();
  }

  void found() {
    const std::vector<std::uint32_t>& outputs = rule.left_variables;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (classes[outputs[i]] == classes[outputs[j]]) return;  // would only be merged with itself
    if (rule.symmetric && classes[outputs[1]] < classes[outputs[0]]) return;
    for (std::size_t i = 0; i < rule.input_variables.size(); ++i)
      if (rule.rule.inputs[i].weight && !egraph.weight_only(classes[rule.input_variables[i]]))
        return;
    const std::uint32_t bindings = matcher.bind(egraph, classes, nodes);
    if (bindings == unbound) {
      ++matcher.rejected_;
      return;
    }
    if (matches.size() >= limit) {
      stopped = true;
      return;
    }
    matches.push_back({{classes.begin(), classes.end()}, bindings});
  }
};

bool RuleMatcher::search(EGraph& egraph, std::uint32_t since, std::size_t limit,
                         const std::function<bool()>& interrupted, std::vector<Match>& matches) {
  Search search{*this,
                egraph,
                since,
                limit,
                interrupted,
                matches,
                *rule_,
                std::vector<ClassId>(rule_->variable_count),
                std::vector<ENodeId>(rule_->nodes.size())};
  search.run();
  return !search.stopped;
}

std::uint32_t RuleMatcher::bind(EGraph& egraph, std::span<const ClassId> classes,
                                std::span<const ENodeId> nodes) {
  absl::InlinedVector<std::uint32_t, 8> key;
  for (const std::uint32_t variable : rule_->input_variables)
    key.push_back(egraph.type_id(classes[variable]).v);
  for (const ENodeId id : nodes)
    if (egraph.node(id).kind == ENodeKind::operation) key.push_back(egraph.node(id).payload);
  const auto [where, inserted] = bound_by_types_.try_emplace(std::move(key), unbound);
  if (!inserted) return where->second;
  std::unique_ptr<BoundRule> result = try_bind(egraph, classes, nodes);
  if (!result) return unbound;
  bound_.push_back(std::move(result));
  return where->second = static_cast<std::uint32_t>(bound_.size() - 1);
}

std::unique_ptr<BoundRule> RuleMatcher::try_bind(EGraph& egraph, std::span<const ClassId> classes,
                                                 std::span<const ENodeId> nodes) const {
  const Substitution& rule = rule_->rule;
  std::vector<const TensorType*> inputs;
  for (const std::uint32_t variable : rule_->input_variables)
    inputs.push_back(&egraph.type(classes[variable]));
  std::vector<std::vector<TensorType>> operand_types(nodes.size());
  std::vector<MatchedNode> matched;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (rule_->nodes[i].kind != ENodeKind::operation) continue;
    operand_types[i] = egraph.input_types(nodes[i]);
    matched.push_back(
        {rule_->nodes[i].term, &egraph.attributes(egraph.node(nodes[i])), operand_types[i]});
  }
  auto result = std::make_unique<BoundRule>();
  if (!bind_variables(rule, inputs, matched, result->bindings)) return nullptr;
  for (const RuleTerm& term : rule.terms) {
    AttributesId id;
    if (!term.is_input) {
      auto attributes = evaluate_attributes(term, result->bindings);
      if (!attributes) return nullptr;
      id = egraph.intern(std::move(*attributes));
    }
    result->attributes.push_back(id);
  }
  return result;
}

Result<std::vector<ClassId>> RuleMatcher::instantiate(EGraph& egraph, const Match& match) const {
  const Substitution& rule = rule_->rule;
  const BoundRule& bound = *bound_[match.bindings];
  std::vector<ClassId> values(rule.terms.size());
  std::vector<char> needed(rule.terms.size(), 0);
  for (const TermId root : rule.right) needed[root.v] = 1;
  for (std::size_t i = needed.size(); i-- > 0;)
    if (needed[i] != 0)
      for (const TermId operand : rule.terms[i].operands)
        if (!operand.is_none()) needed[operand.v] = 1;
  for (std::size_t i = 0; i < rule.terms.size(); ++i) {
    if (needed[i] == 0) continue;
    const RuleTerm& term = rule.terms[i];
    if (term.is_input) {
      values[i] = match.classes[rule_->input_variables[term.input]];
      continue;
    }
    absl::InlinedVector<ClassId, 4> operands;
    for (const TermId operand : term.operands)
      operands.push_back(operand.is_none() ? ClassId::none() : values[operand.v]);
    LEMMA_ASSIGN_OR_RETURN(
        const ClassId computed,
        egraph.add_operation(term.op, operands, bound.attributes[i], term.output_count));
    values[i] = term.output_count > 1 ? egraph.add_projection(computed, term.output) : computed;
  }
  std::vector<ClassId> result;
  for (const TermId root : rule.right) result.push_back(values[root.v]);
  return result;
}

}  // namespace lemma
