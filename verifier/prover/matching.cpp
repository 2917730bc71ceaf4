#include "verifier/prover/matching.h"

#include <optional>

namespace lemma::verifier {
namespace {

/// Backtracking over the choices of a node for each operation of the pattern. Patterns have a few
/// terms, so the recursion is as deep as they are long.
class Matcher {
 public:
  Matcher(const Closure& terms, const Substitution& axiom, std::size_t limit, TriedMatches& tried,
          std::size_t& steps_left)
      : terms_(terms),
        axiom_(axiom),
        limit_(limit),
        tried_(tried),
        steps_left_(steps_left),
        inputs_(axiom.inputs.size()),
        classes_(axiom.terms.size()),
        nodes_(axiom.terms.size()) {}

  std::vector<Match> run() {
    match_root(0);
    return std::move(matches_);
  }

 private:
  struct Goal {
    TermId term;
    ValueId value;  // a class
  };

  bool full() const { return found_ >= limit_ || steps_left_ == 0; }

  void match_root(std::size_t root) {
    if (full()) return;
    if (root == axiom_.left.size()) {
      finish();
      return;
    }
    const TermId id = axiom_.left[root];
    const RuleTerm& term = axiom_.terms[id.v];
    if (term.is_input) return;  // such a side is never a pattern
    if (classes_[id.v]) {
      match_root(root + 1);
      return;
    }
    for (const NodeId node : terms_.operations()) {
      if (!fits(term, node)) continue;
      match_node(id, node, terms_.find(terms_.graph().node(node).output(term.output)), {},
                 root + 1);
    }
  }

  bool fits(const RuleTerm& term, NodeId id) const {
    const Node& node = terms_.graph().node(id);
    return node.op == term.op && node.output_count == term.output_count &&
           node.inputs.size() == term.operands.size();
  }

  void match_goals(std::vector<Goal> goals, std::size_t next_root) {
    if (full()) return;
    if (goals.empty()) {
      match_root(next_root);
      return;
    }
    const Goal goal = goals.back();
    goals.pop_back();
    auto& known = classes_[goal.term.v];
    if (known) {
      if (*known == goal.value) match_goals(std::move(goals), next_root);
      return;
    }
    const RuleTerm& term = axiom_.terms[goal.term.v];
    if (term.is_input) {
      known = inputs_[term.input] = goal.value;
      match_goals(std::move(goals), next_root);
      known.reset();
      inputs_[term.input].reset();
      return;
    }
    for (const Member member : terms_.members(goal.value))
      if (member.output == term.output && fits(term, member.node))
        match_node(goal.term, member.node, goal.value, goals, next_root);
  }

  void match_node(TermId id, NodeId node, ValueId value, std::vector<Goal> goals,
                  std::size_t next_root) {
    if (full()) return;
    --steps_left_;
    const RuleTerm& term = axiom_.terms[id.v];
    const std::vector<ValueId>& operands = terms_.graph().node(node).inputs;
    for (std::size_t i = operands.size(); i-- > 0;) {
      if (term.operands[i].is_none() != operands[i].is_none()) return;
      if (!operands[i].is_none()) goals.push_back({term.operands[i], terms_.find(operands[i])});
    }
    classes_[id.v] = value;
    nodes_[id.v] = node;
    match_goals(std::move(goals), next_root);
    classes_[id.v].reset();
    nodes_[id.v].reset();
  }

  void finish() {
    std::vector<std::uint32_t> ids;
    ids.reserve(inputs_.size() + nodes_.size());
    for (const auto& input : inputs_) {
      if (!input) return;
      ids.push_back(input->v);
    }
    for (const auto& node : nodes_) ids.push_back(node.value_or(NodeId{}).v);
    const auto [tried, is_new] = tried_.try_emplace(std::move(ids), false);
    if (is_new) tried->second = add_match();
    if (tried->second) ++found_;
  }

  /// False if the variables cannot be bound.
  bool add_match() {
    const Graph& graph = terms_.graph();
    Match match;
    std::vector<const TensorType*> types;
    for (const auto& input : inputs_) {
      match.inputs.push_back(*input);
      types.push_back(&graph.type(*input));
    }
    std::vector<std::vector<TensorType>> operand_types;
    std::vector<MatchedNode> nodes;
    operand_types.reserve(nodes_.size());
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i]) continue;
      const Node& node = graph.node(*nodes_[i]);
      operand_types.push_back(graph.input_types(node));
      nodes.push_back({TermId{i}, &node.attributes, operand_types.back()});
    }
    if (!bind_variables(axiom_, types, nodes, match.bindings)) return false;
    for (const auto& node : nodes_) match.nodes.push_back(node.value_or(NodeId{}));
    for (const TermId root : axiom_.left)
      match.left.push_back(graph.node(*nodes_[root.v]).output(axiom_.terms[root.v].output));
    matches_.push_back(std::move(match));
    return true;
  }

  const Closure& terms_;
  const Substitution& axiom_;
  const std::size_t limit_;
  TriedMatches& tried_;
  std::size_t& steps_left_;
  std::size_t found_ = 0;                        // now and before
  std::vector<std::optional<ValueId>> inputs_;   // by input of the axiom
  std::vector<std::optional<ValueId>> classes_;  // by term
  std::vector<std::optional<NodeId>> nodes_;     // by term
  std::vector<Match> matches_;
};

}  // namespace

std::vector<Match> find_matches(const Closure& terms, const Substitution& axiom, std::size_t limit,
                                TriedMatches& tried, std::size_t& steps_left) {
  return Matcher(terms, axiom, limit, tried, steps_left).run();
}

}  // namespace lemma::verifier
