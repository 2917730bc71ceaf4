#include "egraph/pattern.h"

#include <algorithm>
#include <array>
#include <utility>

namespace lemma {

// ---- Finding matches --------------------------------------------------------------------------

/// One walk along a plan, backtracking. The depth of the recursion is the size of the pattern.
class RuleMatcher::Search {
 public:
  Search(RuleMatcher& matcher, EGraph& egraph, std::uint32_t since, std::size_t limit,
         const std::function<bool()>& interrupted, MatchList& matches)
      : matcher_(matcher),
        egraph_(egraph),
        since_(since),
        limit_(limit),
        interrupted_(interrupted),
        matches_(matches),
        rule_(matcher.rule()),
        classes_(rule_.variable_count),
        nodes_(rule_.nodes.size()) {}

  /// Whether all was looked at.
  bool run() {
    for (start_ = 0; start_ < rule_.nodes.size() && !stopped_; ++start_) {
      companions_.clear();
      const std::vector<MatchStep>& plan = rule_.plans[start_];
      walk(plan.data(), plan.data() + plan.size());
      sort_out();
    }
    return !stopped_;
  }

 private:
  static constexpr std::size_t ahead = 8;  // candidates that are fetched before their turn

  void walk(const MatchStep* step, const MatchStep* end) {
    const MatchStep::Source* source = nullptr;
    const std::vector<ENodeId>& candidates = candidates_of(*step, end, source);
    // The members of a class are there because that is their class.
    const std::size_t first_place = source != nullptr && source->down ? 1 : 0;
    const bool is_last = step + 1 == end;
    // Nothing is added or merged meanwhile: the list stays where it is.
    const std::size_t count = candidates.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (i + ahead < count) egraph_.prefetch(candidates[i + ahead]);
      const ENodeId id = candidates[i];
      if ((++steps_ & 0xfffU) == 0 && interrupted_()) stopped_ = true;
      if (stopped_) return;
      if (!is_candidate(step->node, id) || !enter(*step, first_place, id)) continue;
      nodes_[step->node] = id;
      if (is_last)
        found();
      else
        walk(step + 1, end);
    }
  }

  bool is_candidate(std::uint32_t pattern, ENodeId id) {
    // The starting node must be new and those before it in the pattern old, so that each match is
    // found from its first new node only.
    const bool is_new = egraph_.node(id).stamp > since_;
    if (pattern <= start_ && is_new != (pattern == start_)) return false;
    return matcher_.fits(egraph_, pattern, id);
  }

  const std::vector<ENodeId>& candidates_of(const MatchStep& step, const MatchStep* end,
                                            const MatchStep::Source*& chosen) {
    if (step.sources.empty())
      return step.node == start_ ? all_of(step) : companions(step, &step + 1 == end);
    static const std::vector<ENodeId> nothing;
    const PatternNode& pattern = rule_.nodes[step.node];
    const std::vector<ENodeId>* shortest = nullptr;
    for (const MatchStep::Source& source : step.sources) {
      const ClassId known = classes_[source.variable];
      if (!(source.down ? egraph_.may_have_node(known, pattern.kind, pattern.op)
                        : egraph_.may_have_parent(known, pattern.kind, pattern.op)))
        return nothing;
      const auto& list = source.down ? egraph_.nodes(known) : egraph_.parents(known);
      if (shortest != nullptr && shortest->size() <= list.size()) continue;
      shortest = &list;
      chosen = &source;
    }
    return *shortest;
  }

  const std::vector<ENodeId>& all_of(const MatchStep& step) const {
    const PatternNode& pattern = rule_.nodes[step.node];
    if (pattern.kind == ENodeKind::projection) return egraph_.projections();
    return egraph_.nodes_of(pattern.op);
  }

  /// For a node that shares nothing with the earlier ones: those whose form goes with their forms.
  /// There are few forms, but as many pairs as the product of the numbers of nodes.
  const std::vector<ENodeId>& companions(const MatchStep& step, bool last) {
    Key key = {step.node};
    for (const MatchStep* earlier = rule_.plans[start_].data(); earlier != &step; ++earlier)
      key.push_back(egraph_.node(nodes_[earlier->node]).form.v);
    std::unique_ptr<std::vector<ENodeId>>& list = companions_[key];
    if (list) return *list;
    list = std::make_unique<std::vector<ENodeId>>();
    for (const ENodeId id : all_of(step)) {
      if (!is_candidate(step.node, id)) continue;
      nodes_[step.node] = id;
      if (!last || matcher_.bind(egraph_, nodes_) != unbound) list->push_back(id);
    }
    return *list;
  }

  /// Takes the variables from a node, its class being the first place; false if it does not agree with what is known of them.
  bool enter(const MatchStep& step, std::size_t first_place, ENodeId id) {
    const ClassId* children = egraph_.children(id).data();
    ClassId* classes = classes_.data();
    for (std::size_t i = first_place; i < step.places.size(); ++i) {
      const MatchStep::Place& place = step.places[i];
      const ClassId value = place.operand == MatchStep::Place::result ? egraph_.find(id.founded())
                                                                      : children[place.operand];
      if (!place.known)
        classes[place.variable] = value;
      else if (classes[place.variable] != value)
        return false;
    }
    for (const std::uint32_t variable : step.weights)
      if (!egraph_.weight_only(classes_[variable])) return false;
    for (const auto& [a, b] : step.distinct)
      if (classes_[a] == classes_[b] || (step.ordered && classes_[b] < classes_[a])) return false;
    return true;
  }

  void found() {
    const std::uint32_t bound = matcher_.bind(egraph_, nodes_);
    if (bound == unbound) {
      ++matcher_.rejected_;
      return;
    }
    if (pending_count_ != 0 && bound != pending_bound_) sort_out();
    pending_bound_ = bound;
    std::size_t slot = 0;
    for (const std::uint32_t variable : rule_.input_variables)
      pending(slot++)[pending_count_] = classes_[variable];
    for (const std::uint32_t variable : rule_.left_variables)
      pending(slot++)[pending_count_] = classes_[variable];
    if (++pending_count_ == batch) sort_out();
  }

  /// What the pending matches have in a slot: the classes of the match, then the nodes of the right
  /// side as far as they are there.
  ClassId* pending(std::size_t slot) {
    if ((slot + 1) * batch > pending_.size()) pending_.resize((slot + 1) * batch);
    return &pending_[slot * batch];
  }

  /// Of the matches found last, keeps those that say something new. All take each step of their right
  /// sides together, so as to wait for memory together.
  void sort_out() {
    const std::size_t count = std::exchange(pending_count_, 0);
    if (count == 0 || stopped_) return;
    const BoundRule& bound = *matcher_.bound_[pending_bound_];
    const std::size_t class_count = rule_.input_variables.size() + rule_.left_variables.size();
    is_new_.fill(!bound.well_typed);  // counted when it is applied
    if (bound.well_typed) {
      for (std::size_t s = 0; s < bound.steps.size(); ++s)
        look_up(bound.steps[s], class_count + s, count);
      for (std::size_t k = 0; k < bound.right.size(); ++k) {
        const ClassId* right = pending(bound.right[k]);
        const ClassId* left = pending(rule_.input_variables.size() + k);
        for (std::size_t i = 0; i < count; ++i) is_new_[i] = is_new_[i] || left[i] != right[i];
      }
    }
    for (std::size_t i = 0; i < count && !stopped_; ++i) {
      if (!is_new_[i]) continue;
      if (matches_.size() >= limit_) stopped_ = true;
      if (stopped_) break;
      for (std::size_t slot = 0; slot < class_count; ++slot) matches_.add(pending(slot)[i]);
      matches_.end(pending_bound_);
    }
  }

  /// The node of a step for each pending match; none where it is not there.
  void look_up(const BuildStep& step, std::size_t result_slot, std::size_t count) {
    ClassId* result = pending(result_slot);
    absl::InlinedVector<const ClassId*, 4> columns;
    for (const std::uint32_t slot : step.operands)
      columns.push_back(slot == BuildStep::absent_slot ? nullptr : pending(slot));
    absl::InlinedVector<ClassId, 4> operands(columns.size());
    const auto gather = [&](std::size_t i) {
      for (std::size_t k = 0; k < columns.size(); ++k)
        operands[k] = columns[k] == nullptr ? ClassId::none() : columns[k][i];
    };
    if (columns.size() == 2 && columns[0] != nullptr && columns[1] != nullptr) {
      for (std::size_t i = 0; i < count; ++i)  // by far the most frequent
        keys_[i] = egraph_.prefetch(step.form, std::array{columns[0][i], columns[1][i]});
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        gather(i);
        keys_[i] = egraph_.prefetch(step.form, operands);
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (operands.size() > ENode::most_near) gather(i);
      result[i] = egraph_.known(keys_[i], operands);
      if (!result[i].is_none()) result[i] = egraph_.find(result[i]);
      is_new_[i] = is_new_[i] || result[i].is_none();
    }
  }

  RuleMatcher& matcher_;
  EGraph& egraph_;
  std::uint32_t since_;
  std::size_t limit_;
  const std::function<bool()>& interrupted_;
  MatchList& matches_;
  const CompiledRule& rule_;
  std::vector<ClassId> classes_;  // by variable
  std::vector<ENodeId> nodes_;    // by pattern node
  absl::flat_hash_map<Key, std::unique_ptr<std::vector<ENodeId>>> companions_;
  static constexpr std::size_t batch = 64;
  std::vector<ClassId> pending_;     // matches of one bound rule; by slot
  std::uint32_t pending_bound_ = 0;  // which
  std::size_t pending_count_ = 0;
  std::array<NodeTable::Key, batch> keys_;
  std::array<bool, batch> is_new_;
  std::uint32_t start_ = 0;  // the pattern node that must be new
  std::size_t steps_ = 0;
  bool stopped_ = false;
};

bool RuleMatcher::search(EGraph& egraph, std::uint32_t since, std::size_t limit,
                         const std::function<bool()>& interrupted, MatchList& matches) {
  matches.start(rule_->input_variables.size() + rule_->left_variables.size());
  return Search(*this, egraph, since, limit, interrupted, matches).run();
}

// ---- Forms ------------------------------------------------------------------------------------

/// Whether nodes of this one's form can stand for a pattern node, as far as that alone tells.
bool RuleMatcher::find_out_fit(const EGraph& egraph, const PatternNode& pattern, ENodeId id) const {
  const ENode& node = egraph.node(id);
  if (node.kind != pattern.kind || node.child_count != pattern.operands.size()) return false;
  if (node.kind == ENodeKind::projection) return node.payload == pattern.output;
  if (node.op != pattern.op || node.output_count != pattern.output_count) return false;
  const Substitution& rule = rule_->rule;
  const auto children = egraph.children(id);
  for (std::size_t k = 0; k < children.size(); ++k) {
    const std::uint32_t variable = pattern.operands[k];
    if (children[k].is_none() != (variable == PatternNode::absent_operand)) return false;
    const auto input =
        std::find(rule_->input_variables.begin(), rule_->input_variables.end(), variable);
    if (children[k].is_none() || input == rule_->input_variables.end()) continue;
    const auto position = static_cast<std::uint32_t>(input - rule_->input_variables.begin());
    const TensorType& type = egraph.type(children[k]);
    RuleBindings alone;
    if (!type.is_known() || !match_shape(rule, position, *type.shape, alone)) return false;
  }
  RuleBindings alone;
  return match_attributes(rule.terms[pattern.term.v], egraph.attributes(node),
                          egraph.input_types(id), alone);
}

std::uint32_t RuleMatcher::bind(EGraph& egraph, std::span<const ENodeId> nodes) {
  bool same = last_bound_ != unbound;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::uint32_t form = egraph.node(nodes[i]).form.v;
    same = same && last_key_[i] == form;
    last_key_[i] = form;
  }
  if (same) return last_bound_;
  const auto [where, inserted] = bound_by_forms_.try_emplace(last_key_, unbound);
  last_bound_ = where->second;
  if (!inserted) return last_bound_;
  std::unique_ptr<BoundRule> result = try_bind(egraph, nodes);
  if (!result) return unbound;
  bound_.push_back(std::move(result));
  return last_bound_ = where->second = static_cast<std::uint32_t>(bound_.size() - 1);
}

std::unique_ptr<BoundRule> RuleMatcher::try_bind(EGraph& egraph,
                                                 std::span<const ENodeId> nodes) const {
  const Substitution& rule = rule_->rule;
  std::vector<TypeId> types(rule_->variable_count);
  std::vector<std::vector<TensorType>> operand_types(nodes.size());
  std::vector<MatchedNode> matched;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const PatternNode& pattern = rule_->nodes[i];
    types[pattern.result] = egraph.type_id(nodes[i].founded());
    const auto children = egraph.children(nodes[i]);
    for (std::size_t k = 0; k < children.size(); ++k)
      if (!children[k].is_none()) types[pattern.operands[k]] = egraph.type_id(children[k]);
    if (pattern.kind != ENodeKind::operation) continue;
    operand_types[i] = egraph.input_types(nodes[i]);
    matched.push_back({pattern.term, &egraph.attributes(egraph.node(nodes[i])), operand_types[i]});
  }
  std::vector<const TensorType*> inputs;
  for (const std::uint32_t variable : rule_->input_variables)
    inputs.push_back(&egraph.type(types[variable]));
  auto result = std::make_unique<BoundRule>();
  if (!bind_variables(rule, inputs, matched, result->bindings)) return nullptr;
  std::vector<Attributes> attributes(rule.terms.size());
  for (std::size_t i = 0; i < rule.terms.size(); ++i) {
    if (rule.terms[i].is_input) continue;
    auto evaluated = evaluate_attributes(rule.terms[i], result->bindings);
    if (!evaluated) return nullptr;
    attributes[i] = std::move(*evaluated);
  }
  plan_right_side(egraph, types, attributes, *result);
  return result;
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
