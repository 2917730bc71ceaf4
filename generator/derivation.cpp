#include "generator/derivation.h"

#include <algorithm>

#include <absl/container/inlined_vector.h>

#include "rule_language/rule_cases.h"

namespace lemma::generator {

/// Finds classes for the inputs of a side so that it is the given term.
template <typename Visit>
class RuleMemory::Match {
 public:
  Match(const TermTable& table, const Candidate& rule, const Visit& visit)
      : table_(table), rule_(rule), visit_(visit), classes_(rule.terms.size(), nothing) {}

  /// Calls visit with the classes of the rule's terms for every match, until it returns true.
  bool run(std::uint32_t root, const TermNode& node) {
    goals_.push_back({root, nothing, &node});
    return next(0);
  }
  bool run(const std::vector<std::uint32_t>& roots, const std::vector<TermNode>& nodes) {
    for (std::size_t i = 0; i < roots.size(); ++i) goals_.push_back({roots[i], nothing, &nodes[i]});
    return next(0);
  }

 private:
  struct Goal {
    std::uint32_t term = 0;
    ClassId id = nothing;            // in which a node is sought
    const TermNode* node = nullptr;  // or the node itself
  };

  // As deep as sides have terms.
  bool next(std::size_t at) {
    if (at == goals_.size()) return visit_(classes_);
    const Goal goal = goals_[at];
    if (goal.node != nullptr) return try_node(at, goal, *goal.node);
    if (classes_[goal.term] != nothing) return classes_[goal.term] == goal.id && next(at + 1);
    classes_[goal.term] = goal.id;
    bool done = false;
    if (rule_.terms[goal.term].op == nothing) {
      done = next(at + 1);
    } else {
      for (const TermNodeId member : table_.members(goal.id))
        if (is_reachable(goal.id, member) && try_node(at, goal, table_.nodes()[member])) {
          done = true;
          break;
        }
    }
    classes_[goal.term] = nothing;
    return done;
  }

  /// Whether rules lead from the representative to the member. None has an input for its left side,
  /// and none brings in inputs that its left side does not have.
  bool is_reachable(ClassId id, TermNodeId member) const {
    const TermClass& known = table_.classes()[id];
    return member == known.representative ||
           (table_.nodes()[known.representative].op != nothing &&
            (table_.inputs_of(table_.nodes()[member].operands) & ~known.inputs) == 0);
  }

  bool try_node(std::size_t at, const Goal& goal, const TermNode& node) {
    const CandidateTerm& term = rule_.terms[goal.term];
    if (node.op != term.op || node.output != term.output || term.op == nothing) return false;
    if (try_operands(at, term, node.operands)) return true;
    if (!table_.set().operators[term.op].commutative || node.operands[0] == node.operands[1])
      return false;
    Operands exchanged = node.operands;
    std::swap(exchanged[0], exchanged[1]);
    return try_operands(at, term, exchanged);
  }

  bool try_operands(std::size_t at, const CandidateTerm& term, const Operands& operands) {
    const std::size_t before = goals_.size();
    for (std::size_t i = 0; i < most_operands && operands[i] != nothing; ++i)
      goals_.push_back({term.operands[i], operands[i], nullptr});
    const bool done = next(at + 1);
    goals_.resize(before);
    return done;
  }

  const TermTable& table_;
  const Candidate& rule_;
  const Visit& visit_;
  std::vector<ClassId> classes_;  // by term of the rule
  absl::InlinedVector<Goal, 16> goals_;
};

/// Whether the operands of a term have members with the operators that a side asks for.
bool RuleMemory::may_match(const Candidate& rule, const CandidateTerm& top,
                           const TermNode& term) const {
  if (top.output != term.output) return false;
  const bool commutative = table_.set().operators[top.op].commutative;
  for (std::size_t i = 0; i < most_operands && top.operands[i] != no_term; ++i) {
    const std::uint32_t op = rule.terms[top.operands[i]].op;
    if (op == nothing) continue;
    const std::uint64_t bit = std::uint64_t{1} << (op % 64);
    if ((operators_of(term.operands[i]) & bit) == 0 &&
        (!commutative || (operators_of(term.operands[1 - i]) & bit) == 0))
      return false;
  }
  return true;
}

void RuleMemory::prepare() {
  auto operators = std::make_shared<std::vector<std::uint64_t>>(table_.classes().size());
  for (const TermNode& node : table_.nodes())
    if (node.op != nothing) (*operators)[node.id] |= std::uint64_t{1} << (node.op % 64);
  operators_ = std::move(operators);
}

void RuleMemory::add(Candidate candidate, Substitution rule) {
  const tbb::spin_rw_mutex::scoped_lock lock(mutex_, true);
  const std::size_t number = rules_.size();
  const std::vector<std::uint32_t> left = inputs_of(candidate, candidate.left),
                                   right = inputs_of(candidate, candidate.right);
  const auto add_direction = [&](const std::vector<std::uint32_t>& roots, bool binds,
                                 bool forward) {
    const CandidateTerm& top = candidate.terms[roots[0]];
    if (!binds || top.op == nothing) return;
    const std::vector<std::uint32_t>& to = forward ? candidate.right : candidate.left;
    const std::uint32_t op = candidate.terms[to[0]].op;
    // An input stands for any class.
    const std::uint64_t operators =
        op == nothing ? ~std::uint64_t{0} : std::uint64_t{1} << (op % 64);
    by_operator_[top.op].push_back({number, forward, below(candidate, to), operators});
  };
  add_direction(candidate.left, std::includes(left.begin(), left.end(), right.begin(), right.end()),
                true);
  add_direction(candidate.right,
                std::includes(right.begin(), right.end(), left.begin(), left.end()), false);
  std::vector<std::uint32_t>& inputs = set_inputs_.emplace_back();
  for (const RuleInput& input : rule.inputs)
    for (std::uint32_t i = 0; i < candidate.terms.size(); ++i)
      if (candidate.terms[i].op == nothing &&
          table_.set().inputs[candidate.terms[i].input].name == input.name)
        inputs.push_back(i);
  dropped_.push_back(0);
  rules_.push_back(std::move(candidate));
  symbolic_.push_back(std::move(rule));
  size_.store(rules_.size());
}

bool RuleMemory::is_typed(std::size_t rule, const std::vector<ClassId>& classes) const {
  RuleBindings bindings;
  std::vector<Shape> shapes;
  for (const std::uint32_t term : set_inputs_[rule]) {
    if (classes[term] == nothing) return false;
    const std::vector<std::int64_t>& sizes = table_.types()[table_.classes()[classes[term]].type];
    shapes.emplace_back(sizes.begin(), sizes.end());
  }
  // Products are solved once one factor is known; one that never is (it stands in an attribute
  // too, which the operator has agreed with) is taken as it is.
  for (int pass = 0; pass < 2; ++pass)
    for (std::uint32_t i = 0; i < shapes.size(); ++i)
      if (!match_shape(symbolic_[rule], i, shapes[i], bindings)) return false;
  const auto names = dimension_variables(symbolic_[rule]);
  const bool all_known = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return bindings.dimensions.contains(name);
  });
  return !all_known || shapes_agree(symbolic_[rule], shapes, bindings);
}

bool RuleMemory::is_below(TermNodeId id, std::size_t cost) const {
  const TermNode& node = table_.nodes()[id];
  return node.cost < cost || table_.classes()[node.id].representative == id;
}

/// A part of a rule, whose operands are these classes.
TermNode RuleMemory::built(const CandidateTerm& part, const std::vector<ClassId>& classes) const {
  TermNode node;
  node.op = part.op;
  node.output = static_cast<std::uint16_t>(part.output);
  for (std::size_t k = 0; k < most_operands && part.operands[k] != no_term; ++k)
    node.operands[k] = classes[part.operands[k]];
  node.operands = table_.normalized(node.op, node.operands);
  return node;
}

void RuleMemory::apply(const TermNode& term, std::size_t first_rule, std::size_t left_out,
                       const Sought& sought) const {
  if (term.op == nothing) return;
  const tbb::spin_rw_mutex::scoped_lock lock(mutex_, false);
  const std::vector<Direction>& directions = by_operator_[term.op];
  auto direction = std::partition_point(
      directions.begin(), directions.end(),
      [first_rule](const Direction& candidate) { return candidate.rule < first_rule; });
  for (; direction != directions.end(); ++direction)
    if (direction->rule != left_out && dropped_[direction->rule] == 0 &&
        (direction->operators & sought.operators) != 0)
      apply(*direction, term, sought);
}

void RuleMemory::apply(const Direction& direction, const TermNode& term,
                       const Sought& sought) const {
  const Candidate& rule = rules_[direction.rule];
  const auto& from = direction.forward ? rule.left : rule.right;
  const auto& to = direction.forward ? rule.right : rule.left;
  if (from.size() != 1 || !may_match(rule, rule.terms[from[0]], term)) return;
  std::vector<ClassId> classes;
  const auto visit = [&](const std::vector<ClassId>& bound) {
    classes = bound;
    std::optional<TermNode> top;
    std::optional<TermNodeId> kept;
    for (const std::uint32_t i : direction.needed) {
      if (rule.terms[i].op == nothing) continue;
      const TermNode node = built(rule.terms[i], classes);
      const auto known = table_.find(node.op, node.output, node.operands);
      if (i == to[0]) {
        top = node;
        kept = known;
        break;
      }
      if (!known || !is_below(*known, term.cost)) return false;
      classes[i] = table_.nodes()[*known].id;
    }
    if (!top) {
      kept = table_.classes()[classes[to[0]]].representative;
      top = table_.nodes()[*kept];
    }
    if (sought.wanted(*top, kept) && is_typed(direction.rule, classes))
      sought.on_equal(*top, kept, direction.rule);
    return false;
  };
  Match(table_, rule, visit).run(from[0], term);
}

bool RuleMemory::merges(const std::vector<TermNode>& terms, const std::vector<TermNode>& outputs,
                        std::size_t left_out) const {
  const tbb::spin_rw_mutex::scoped_lock lock(mutex_, false);
  for (const Direction& direction : by_operator_[terms[0].op]) {
    const Candidate& rule = rules_[direction.rule];
    if (!direction.forward || rule.left.size() != terms.size()) continue;
    if (direction.rule == left_out || dropped_[direction.rule] != 0) continue;
    const auto visit = [&](const std::vector<ClassId>& bound) {
      std::vector<ClassId> classes = bound;
      for (const std::uint32_t i : direction.needed) {
        if (rule.terms[i].op == nothing) continue;
        const TermNode node = built(rule.terms[i], classes);
        const auto place = std::find(rule.right.begin(), rule.right.end(), i);
        if (place != rule.right.end()) {
          const TermNode& wanted = outputs[static_cast<std::size_t>(place - rule.right.begin())];
          if (node.op != wanted.op || node.output != wanted.output ||
              node.operands != wanted.operands)
            return false;
          continue;
        }
        const auto known = table_.find(node.op, node.output, node.operands);
        if (!known) return false;
        classes[i] = table_.nodes()[*known].id;
      }
      return is_typed(direction.rule, classes);
    };
    if (Match(table_, rule, visit).run(rule.left, terms)) return true;
  }
  return false;
}

}  // namespace lemma::generator
