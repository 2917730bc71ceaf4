#include "verifier/prover/explain.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

namespace lemma::verifier {
namespace {

constexpr std::size_t length_limit = 2000;

using Chain = std::vector<ProofRewrite>;

/// An equality, read from its first value to its second or the other way round.
struct Edge {
  std::size_t equality = 0;
  bool reversed = false;
  friend auto operator<=>(const Edge&, const Edge&) = default;
};

/// Explanations of equalities rest on earlier ones only, so that the recursion ends.
class Explainer {
 public:
  Explainer(const Closure& terms, const std::vector<AxiomUse>& steps)
      : terms_(terms), steps_(steps), edges_(terms.graph().value_count()) {
    for (std::size_t i = 0; i < terms.equalities().size(); ++i) {
      const Equality& equality = terms.equalities()[i];
      edges_[equality.a.v].push_back(i);
      edges_[equality.b.v].push_back(i);
    }
  }

  bool too_long() const { return too_long_; }
  const std::set<const Substitution*>& misused() const { return misused_; }

  /// A path from one value to another by the first `known` equalities, over as few of them as
  /// possible; nothing if that takes one in a direction in which it has no explanation.
  std::optional<Chain> path(ValueId from, ValueId to, std::size_t known) {
    while (!too_long_) {
      const auto way = shortest_way(from, to, known);
      if (!way) return std::nullopt;
      if (auto chain = along(*way)) return chain;
    }
    return std::nullopt;
  }

 private:
  std::uint32_t other_end(std::size_t edge, std::uint32_t value) const {
    const Equality& equality = terms_.equalities()[edge];
    return equality.a.v == value ? equality.b.v : equality.a.v;
  }

  Edge edge_from(std::size_t equality, std::uint32_t value) const {
    return {equality, terms_.equalities()[equality].a.v != value};
  }

  /// The shortest way without those edges that were found to have no explanation in their
  /// direction.
  std::optional<std::vector<Edge>> shortest_way(ValueId from, ValueId to, std::size_t known) const {
    std::map<std::uint32_t, std::size_t> reached_by;  // the last equality on the way to a value
    std::deque<std::uint32_t> open = {from.v};
    while (!open.empty() && open.front() != to.v) {
      const std::uint32_t value = open.front();
      open.pop_front();
      for (const std::size_t edge : edges_[value]) {
        if (edge >= known) break;
        const std::uint32_t next = other_end(edge, value);
        if (next == from.v || reached_by.contains(next)) continue;
        if (!impossible_.empty() && impossible_.contains(edge_from(edge, value))) continue;
        reached_by.emplace(next, edge);
        open.push_back(next);
      }
    }
    if (open.empty()) return std::nullopt;
    std::vector<Edge> way;
    for (std::uint32_t value = to.v; value != from.v;) {
      const std::size_t edge = reached_by.at(value);
      value = other_end(edge, value);
      way.push_back(edge_from(edge, value));
    }
    std::reverse(way.begin(), way.end());
    return way;
  }

  std::optional<Chain> along(const std::vector<Edge>& way) {
    Chain result;
    for (const Edge& edge : way) {
      const Chain* part = explanation(edge);
      if (part == nullptr || !append(result, *part, {})) return std::nullopt;
    }
    return result;
  }

  bool append(Chain& chain, Chain part, std::optional<std::uint32_t> operand) {
    for (ProofRewrite& rewrite : part) {
      if (operand) rewrite.position.insert(rewrite.position.begin(), *operand);
      chain.push_back(std::move(rewrite));
    }
    too_long_ = too_long_ || chain.size() > length_limit;
    return !too_long_;
  }

  /// Null if there is none in this direction.
  const Chain* explanation(const Edge& edge) {
    if (const auto known = explained_.find(edge); known != explained_.end()) return &known->second;
    if (impossible_.contains(edge)) return nullptr;
    const Equality& reason = terms_.equalities()[edge.equality];
    auto chain = reason.step == Equality::no_step ? by_congruence(edge) : by_step(edge);
    if (chain) return &explained_.emplace(edge, std::move(*chain)).first->second;
    if (!too_long_) impossible_.insert(edge);
    return nullptr;
  }

  std::optional<Chain> by_congruence(const Edge& edge) {
    const Equality& reason = terms_.equalities()[edge.equality];
    const Graph& graph = terms_.graph();
    const Node& from = graph.node(graph.producer(edge.reversed ? reason.b : reason.a));
    const Node& to = graph.node(graph.producer(edge.reversed ? reason.a : reason.b));
    Chain chain;
    for (std::uint32_t i = 0; i < from.inputs.size(); ++i) {
      if (from.inputs[i].is_none()) continue;
      auto part = path(from.inputs[i], to.inputs[i], edge.equality);
      if (!part || !append(chain, std::move(*part), i)) return std::nullopt;
    }
    return chain;
  }

  std::optional<Chain> by_step(const Edge& edge) {
    const Equality& reason = terms_.equalities()[edge.equality];
    const AxiomUse& step = steps_[reason.step];
    const bool backward = step.directed->backward != edge.reversed;
    if (!step.allows(backward)) {
      misused_.insert(step.axiom);
      return std::nullopt;
    }
    const TermId root = step.directed->rule.left[reason.output];
    auto chain = edge.reversed ? from_pattern(step, root) : to_pattern(step, root);
    if (!chain) return std::nullopt;
    ProofRewrite rewrite{{}, reason.step, reason.output, backward};
    chain->insert(edge.reversed ? chain->begin() : chain->end(), std::move(rewrite));
    return chain;
  }

  /// Where the search found an operand of the pattern, and what the step's claim has in its place.
  std::pair<ValueId, ValueId> found_and_meant(const AxiomUse& step, const Node& node,
                                              const RuleTerm& term, std::uint32_t i) const {
    const RuleTerm& operand = step.directed->rule.terms[term.operands[i].v];
    if (operand.is_input) return {node.inputs[i], step.inputs[operand.input]};
    const Node& meant = terms_.graph().node(step.nodes[term.operands[i].v]);
    return {node.inputs[i], meant.output(operand.output)};
  }

  /// A chain from the node that was found for a term of the pattern to the term over the step's
  /// inputs.
  std::optional<Chain> to_pattern(const AxiomUse& step, TermId id) {
    const RuleTerm& term = step.directed->rule.terms[id.v];
    const Node& node = terms_.graph().node(step.nodes[id.v]);
    Chain chain;
    for (std::uint32_t i = 0; i < term.operands.size(); ++i) {
      if (term.operands[i].is_none()) continue;
      const auto [actual, meant] = found_and_meant(step, node, term, i);
      auto part = path(actual, meant, step.known);
      if (!part || !append(chain, std::move(*part), i)) return std::nullopt;
      if (step.directed->rule.terms[term.operands[i].v].is_input) continue;
      auto below = to_pattern(step, term.operands[i]);
      if (!below || !append(chain, std::move(*below), i)) return std::nullopt;
    }
    return chain;
  }

  /// The way back.
  std::optional<Chain> from_pattern(const AxiomUse& step, TermId id) {
    const RuleTerm& term = step.directed->rule.terms[id.v];
    const Node& node = terms_.graph().node(step.nodes[id.v]);
    Chain chain;
    for (auto i = static_cast<std::uint32_t>(term.operands.size()); i-- > 0;) {
      if (term.operands[i].is_none()) continue;
      const auto [actual, meant] = found_and_meant(step, node, term, i);
      if (!step.directed->rule.terms[term.operands[i].v].is_input) {
        auto below = from_pattern(step, term.operands[i]);
        if (!below || !append(chain, std::move(*below), i)) return std::nullopt;
      }
      auto part = path(meant, actual, step.known);
      if (!part || !append(chain, std::move(*part), i)) return std::nullopt;
    }
    return chain;
  }

  const Closure& terms_;
  const std::vector<AxiomUse>& steps_;
  std::vector<std::vector<std::size_t>> edges_;  // by value, ascending
  std::map<Edge, Chain> explained_;
  std::set<Edge> impossible_;
  std::set<const Substitution*> misused_;
  bool too_long_ = false;
};

}  // namespace

Result<ProofExplanation> explain(const Closure& terms, const std::vector<Goal>& goals,
                                 const std::vector<AxiomUse>& steps) {
  Explainer explainer(terms, steps);
  ProofExplanation result;
  result.chain.emplace();
  for (std::uint32_t i = 0; i < goals.size(); ++i) {
    auto part = explainer.path(goals[i].left, goals[i].right, terms.equalities().size());
    if (explainer.too_long()) return internal_error("the chain of steps is too long");
    if (!part) return ProofExplanation{std::nullopt, explainer.misused()};
    for (ProofRewrite& rewrite : *part) {
      rewrite.position.insert(rewrite.position.begin(), i);
      result.chain->push_back(std::move(rewrite));
    }
  }
  return result;
}

}  // namespace lemma::verifier
