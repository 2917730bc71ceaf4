#include "generator/derivation.h"

#include <algorithm>

namespace lemma::generator {

/// Finds classes for the inputs of a side so that it is the given term.
class RuleMemory::Match {
 public:
  using Visit = std::function<bool(const std::vector<ClassId>& classes)>;

  Match(const TermTable& table, const Candidate& rule, const Visit& visit)
      : table_(table), rule_(rule), visit_(visit), classes_(rule.terms.size(), nothing) {}

  /// Calls visit with the classes of the rule's terms for every match, until it returns true.
  bool run(const std::vector<std::pair<std::uint32_t, const TermNode*>>& roots) {
    for (const auto& [term, node] : roots) goals_.push_back({term, nothing, node});
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
      for (const TermNodeId member : table_.classes()[goal.id].members)
        if (try_node(at, goal, table_.nodes()[member])) {
          done = true;
          break;
        }
    }
    classes_[goal.term] = nothing;
    return done;
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
  std::vector<Goal> goals_;
};

void RuleMemory::add(Candidate candidate, Substitution rule) {
  const std::size_t number = rules_.size();
  const std::vector<std::uint32_t> left = inputs_of(candidate, candidate.left),
                                   right = inputs_of(candidate, candidate.right);
  const auto add_direction = [&](const std::vector<std::uint32_t>& roots, bool binds,
                                 bool forward) {
    const CandidateTerm& top = candidate.terms[roots[0]];
    if (binds && top.op != nothing) by_operator_[top.op].push_back({number, forward});
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
  rules_.push_back(std::move(candidate));
  symbolic_.push_back(std::move(rule));
}

bool RuleMemory::is_typed(std::size_t rule, const std::vector<ClassId>& classes) const {
  RuleBindings bindings;
  std::vector<Shape> shapes;
  for (std::uint32_t i = 0; i < set_inputs_[rule].size(); ++i) {
    const ClassId id = classes[set_inputs_[rule][i]];
    if (id == nothing) return false;
    const std::vector<std::int64_t>& sizes = table_.types()[table_.classes()[id].type];
    shapes.emplace_back(sizes.begin(), sizes.end());
    if (!match_shape(symbolic_[rule], i, shapes.back(), bindings)) return false;
  }
  return shapes_agree(symbolic_[rule], shapes, bindings) || !symbolic_[rule].parameters.empty();
}

void RuleMemory::apply(const TermNode& term, std::size_t first_rule, const Found& found) const {
  if (term.op == nothing) return;
  for (const Direction& direction : by_operator_[term.op]) {
    if (direction.rule < first_rule) continue;
    const Candidate& rule = rules_[direction.rule];
    const auto& from = direction.forward ? rule.left : rule.right;
    const auto& to = direction.forward ? rule.right : rule.left;
    if (from.size() != 1) continue;
    const std::vector<std::uint32_t> needed = below(rule, to);
    const Match::Visit visit = [&](const std::vector<ClassId>& bound) {
      std::vector<ClassId> classes = bound;
      std::optional<TermNode> top;
      std::optional<TermNodeId> kept;
      for (const std::uint32_t i : needed) {
        const CandidateTerm& part = rule.terms[i];
        if (part.op == nothing) continue;
        TermNode node;
        node.op = part.op;
        node.output = part.output;
        for (std::size_t k = 0; k < most_operands && part.operands[k] != no_term; ++k)
          node.operands[k] = classes[part.operands[k]];
        node.operands = table_.normalized(node.op, node.operands);
        const auto known = table_.find(node.op, node.output, node.operands);
        if (i == to[0]) {
          top = node;
          kept = known;
          break;
        }
        if (!known) return false;
        classes[i] = table_.nodes()[*known].id;
      }
      if (!is_typed(direction.rule, classes)) return false;
      if (!top) {
        kept = table_.classes()[classes[to[0]]].representative;
        top = table_.nodes()[*kept];
      }
      found(*top, kept);
      return false;
    };
    Match(table_, rule, visit).run({{from[0], &term}});
  }
}

bool RuleMemory::merges(const std::vector<TermNode>& terms,
                        const std::vector<TermNode>& outputs) const {
  for (const Direction& direction : by_operator_[terms[0].op]) {
    const Candidate& rule = rules_[direction.rule];
    if (!direction.forward || rule.left.size() != terms.size()) continue;
    const std::vector<std::uint32_t> needed = below(rule, rule.right);
    const Match::Visit visit = [&](const std::vector<ClassId>& bound) {
      std::vector<ClassId> classes = bound;
      for (const std::uint32_t i : needed) {
        const CandidateTerm& part = rule.terms[i];
        if (part.op == nothing) continue;
        TermNode node;
        node.op = part.op;
        node.output = part.output;
        for (std::size_t k = 0; k < most_operands && part.operands[k] != no_term; ++k)
          node.operands[k] = classes[part.operands[k]];
        node.operands = table_.normalized(node.op, node.operands);
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
    std::vector<std::pair<std::uint32_t, const TermNode*>> roots;
    for (std::size_t i = 0; i < terms.size(); ++i) roots.emplace_back(rule.left[i], &terms[i]);
    if (Match(table_, rule, visit).run(roots)) return true;
  }
  return false;
}

}  // namespace lemma::generator
