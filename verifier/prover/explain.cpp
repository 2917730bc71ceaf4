#include "verifier/prover/explain.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>

#include <fmt/format.h>

namespace lemma::verifier {
namespace {

constexpr std::size_t length_limit = 2000;

using Chain = std::vector<Rewrite>;

/// Explanations of equalities rest on earlier ones only, so that the recursion ends.
class Explainer {
 public:
  Explainer(const Closure& terms, const std::vector<Step>& steps)
      : terms_(terms), steps_(steps), edges_(terms.graph().value_count()) {
    for (std::size_t i = 0; i < terms.equalities().size(); ++i) {
      const Equality& equality = terms.equalities()[i];
      edges_[equality.a.v].push_back(i);
      edges_[equality.b.v].push_back(i);
    }
  }

  /// From one value to another by the first `known` equalities, over as few of them as possible.
  Result<Chain> path(ValueId from, ValueId to, std::size_t known) {
    std::map<std::uint32_t, std::size_t> reached_by;  // the last equality on the way to a value
    std::deque<std::uint32_t> open = {from.v};
    while (!open.empty() && open.front() != to.v) {
      const std::uint32_t value = open.front();
      open.pop_front();
      for (const std::size_t edge : edges_[value]) {
        if (edge >= known) break;
        const std::uint32_t next = other_end(edge, value);
        if (next != from.v && reached_by.emplace(next, edge).second) open.push_back(next);
      }
    }
    if (open.empty()) return internal_error("an equality has no explanation");
    std::vector<std::pair<std::size_t, bool>> way;  // equalities, and whether from a to b
    for (std::uint32_t value = to.v; value != from.v;) {
      const std::size_t edge = reached_by.at(value);
      way.emplace_back(edge, terms_.equalities()[edge].b.v == value);
      value = other_end(edge, value);
    }
    Chain result;
    for (std::size_t i = way.size(); i-- > 0;) {
      LEMMA_ASSIGN_OR_RETURN(Chain part, equality(way[i].first));
      if (!way[i].second) reverse(part);
      LEMMA_RETURN_IF_ERROR(append(result, std::move(part), {}));
    }
    return result;
  }

 private:
  std::uint32_t other_end(std::size_t edge, std::uint32_t value) const {
    const Equality& equality = terms_.equalities()[edge];
    return equality.a.v == value ? equality.b.v : equality.a.v;
  }

  static void reverse(Chain& chain) {
    std::reverse(chain.begin(), chain.end());
    for (Rewrite& rewrite : chain) rewrite.backward = !rewrite.backward;
  }

  static Result<void> append(Chain& chain, Chain part, std::optional<std::uint32_t> operand) {
    for (Rewrite& rewrite : part) {
      if (operand) rewrite.position.insert(rewrite.position.begin(), *operand);
      chain.push_back(std::move(rewrite));
    }
    if (chain.size() > length_limit) return internal_error("the chain of steps is too long");
    return {};
  }

  /// From the first value of an equality to the second.
  Result<Chain> equality(std::size_t index) {
    if (const auto known = explained_.find(index); known != explained_.end()) return known->second;
    const Equality& reason = terms_.equalities()[index];
    Chain chain;
    if (reason.step == Equality::no_step) {
      const Graph& graph = terms_.graph();
      const Node &a = graph.node(graph.producer(reason.a)),
                 &b = graph.node(graph.producer(reason.b));
      for (std::uint32_t i = 0; i < a.inputs.size(); ++i) {
        if (a.inputs[i].is_none()) continue;
        LEMMA_ASSIGN_OR_RETURN(Chain part, path(a.inputs[i], b.inputs[i], index));
        LEMMA_RETURN_IF_ERROR(append(chain, std::move(part), i));
      }
    } else {
      const Step& step = steps_[reason.step];
      LEMMA_ASSIGN_OR_RETURN(chain, to_pattern(step, step.directed->rule.left[reason.output]));
      chain.push_back({{}, reason.step, reason.output, step.directed->backward});
    }
    explained_.emplace(index, chain);
    return chain;
  }

  /// From the node that was found for a term of the pattern to the term over the step's inputs.
  Result<Chain> to_pattern(const Step& step, TermId id) {
    const Graph& graph = terms_.graph();
    const RuleTerm& term = step.directed->rule.terms[id.v];
    const Node& node = graph.node(step.nodes[id.v]);
    Chain chain;
    for (std::uint32_t i = 0; i < term.operands.size(); ++i) {
      if (term.operands[i].is_none()) continue;
      const RuleTerm& operand = step.directed->rule.terms[term.operands[i].v];
      const ValueId target =
          operand.is_input ? step.inputs[operand.input]
                           : graph.node(step.nodes[term.operands[i].v]).output(operand.output);
      LEMMA_ASSIGN_OR_RETURN(Chain part, path(node.inputs[i], target, step.known));
      LEMMA_RETURN_IF_ERROR(append(chain, std::move(part), i));
      if (operand.is_input) continue;
      LEMMA_ASSIGN_OR_RETURN(Chain below, to_pattern(step, term.operands[i]));
      LEMMA_RETURN_IF_ERROR(append(chain, std::move(below), i));
    }
    return chain;
  }

  const Closure& terms_;
  const std::vector<Step>& steps_;
  std::vector<std::vector<std::size_t>> edges_;  // by value, ascending
  std::map<std::size_t, Chain> explained_;
};

}  // namespace

Result<std::vector<Rewrite>> explain(const Closure& terms, const std::vector<Goal>& goals,
                                     const std::vector<Step>& steps) {
  Explainer explainer(terms, steps);
  Chain result;
  for (std::uint32_t i = 0; i < goals.size(); ++i) {
    LEMMA_ASSIGN_OR_RETURN(
        Chain part, explainer.path(goals[i].left, goals[i].right, terms.equalities().size()));
    for (Rewrite& rewrite : part) {
      rewrite.position.insert(rewrite.position.begin(), i);
      result.push_back(std::move(rewrite));
    }
  }
  return result;
}

}  // namespace lemma::verifier
