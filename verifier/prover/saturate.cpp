#include "verifier/prover/saturate.h"

#include <algorithm>

#include <fmt/format.h>

#include "facts/partial.h"
#include "rule_language/substitution_analysis.h"
#include "verifier/prover/matching.h"

namespace lemma::verifier {
namespace {

/// Both sides are built of one operator.
bool reorders(const Substitution& axiom) {
  const RuleTerm* first = nullptr;
  for (const RuleTerm& term : axiom.terms) {
    if (term.is_input) continue;
    if (first == nullptr) first = &term;
    if (term.op != first->op) return false;
  }
  return axiom.bidirectional;
}

/// How many operators a side has, and whether one of them may be undefined.
std::pair<std::size_t, bool> operators_of(const Substitution& rule,
                                          const std::vector<TermId>& side) {
  std::size_t count = 0;
  bool is_partial = false;
  for (const TermId id : detail::reachable_terms(rule, side)) {
    if (rule.terms[id.v].is_input) continue;
    ++count;
    is_partial = is_partial || may_be_undefined_by_elements(rule.terms[id.v].op);
  }
  return {count, is_partial};
}

/// Larger than what it replaces, with a quotient or a root where there was none: that
/// `Sqrt(x * x) = Abs(x)` is read in both directions by proofs, but what is absolute need not be
/// looked at as a root.
bool only_complicates(const Substitution& rule) {
  const auto [before, was_partial] = operators_of(rule, rule.left);
  const auto [after, is_partial] = operators_of(rule, rule.right);
  return after > before && is_partial && !was_partial;
}

/// A side that is an input alone matches everywhere and says nothing new.
bool is_pattern(const Substitution& rule) {
  return std::none_of(rule.left.begin(), rule.left.end(),
                      [&rule](TermId id) { return rule.terms[id.v].is_input; });
}

class AxiomSaturator {
 public:
  AxiomSaturator(Closure& terms, const std::vector<Goal>& goals,
                 const std::vector<const DirectedAxiom*>& axioms, const Premises& premises,
                 const ProofSearchLimits& limits)
      : terms_(terms),
        goals_(goals),
        axioms_(axioms),
        premises_(premises),
        limits_(limits),
        tried_(axioms.size()),
        steps_left_(limits.steps),
        always_defined_(terms.graph()) {
    for (const ValueId input : premises.defined) always_defined_.declare(input);
  }

  ProofSearch run() {
    terms_.rebuild();
    bool with_reordering = false;
    for (int round = 0; round < limits_.rounds; ++round) {
      if (reached()) break;
      if (terms_.graph().node_count() > limits_.nodes) {
        result_.stopped = fmt::format("{} terms", terms_.graph().node_count());
        return std::move(result_);
      }
      if (steps_left_ == 0) {
        result_.stopped = fmt::format("{} steps of matching", limits_.steps);
        return std::move(result_);
      }
      with_reordering = with_reordering || round >= limits_.rounds_in_order;
      if (apply_all(with_reordering)) continue;
      if (with_reordering) {
        result_.stopped = "nothing more follows from the axioms";
        return std::move(result_);
      }
      with_reordering = true;
    }
    result_.reached = reached();
    if (!result_.reached) result_.stopped = fmt::format("{} rounds", limits_.rounds);
    return std::move(result_);
  }

 private:
  bool reached() const {
    return std::all_of(goals_.begin(), goals_.end(),
                       [this](const Goal& goal) { return terms_.equal(goal.left, goal.right); });
  }

  /// Matches of all axioms against the terms of this moment; then their conclusions. A match of an earlier round has had
  /// its conclusion, or will never have one.
  bool apply_all(bool with_reordering) {
    std::vector<std::pair<const DirectedAxiom*, Match>> matches;
    for (std::size_t i = 0; i < axioms_.size(); ++i) {
      const DirectedAxiom* axiom = axioms_[i];
      if (axiom->reorders && !with_reordering) continue;
      if (axiom->from_the_goal && (!premises_.from_the_goal || premises_.equations_only)) continue;
      for (Match& match :
           find_matches(terms_, axiom->rule, limits_.matches, tried_[i], steps_left_))
        matches.emplace_back(axiom, std::move(match));
    }
    bool changed = false;
    const std::size_t known = terms_.equalities().size();
    for (auto& [axiom, match] : matches) {
      changed = apply(*axiom, std::move(match), known) || changed;
      if (terms_.graph().node_count() > 2 * limits_.nodes) break;
    }
    if (changed) terms_.rebuild();
    return changed;
  }

  /// Whether every output of the refinement's left side is always defined at these terms.
  bool is_equation(const Substitution& refinement, const Match& match) {
    for (const TermId id : detail::reachable_terms(refinement, refinement.left)) {
      const RuleTerm& term = refinement.terms[id.v];
      if (term.is_input && !always_defined_.holds(match.inputs[term.input])) return false;
    }
    const auto left =
        instantiate(refinement, refinement.left, match.inputs, match.bindings, terms_.graph());
    return left && std::all_of(left->begin(), left->end(),
                               [this](ValueId value) { return always_defined_.holds(value); });
  }

  bool inputs_are_defined(const Substitution& axiom, const Match& match) {
    for (std::size_t i = 0; i < axiom.inputs.size(); ++i)
      if (axiom.inputs[i].defined && !always_defined_.holds(match.inputs[i])) return false;
    return true;
  }

  bool apply(const DirectedAxiom& axiom, Match match, std::size_t known) {
    if (!inputs_are_defined(axiom.rule, match)) return false;
    const bool equation =
        axiom.rule.bidirectional || (!axiom.from_the_goal && is_equation(axiom.rule, match));
    if (!equation &&
        (premises_.equations_only || premises_.only_as_equations.contains(axiom.origin)))
      return false;
    const auto right =
        instantiate(axiom.rule, axiom.rule.right, match.inputs, match.bindings, terms_.graph());
    if (!right) return false;
    for (std::size_t i = 0; i < right->size(); ++i)
      if (!(terms_.graph().type((*right)[i]) == terms_.graph().type(match.left[i]))) return false;
    bool changed = false;
    const auto step = static_cast<std::uint32_t>(result_.steps.size());
    for (std::uint32_t i = 0; i < right->size(); ++i)
      if (!terms_.equal((*right)[i], match.left[i]))
        changed = terms_.merge({match.left[i], (*right)[i], step, i}) || changed;
    if (changed)
      result_.steps.push_back({axiom.origin, std::move(match.inputs), std::move(match.bindings),
                               &axiom, std::move(match.nodes), known, equation});
    return changed;
  }

  Closure& terms_;
  const std::vector<Goal>& goals_;
  const std::vector<const DirectedAxiom*>& axioms_;
  const Premises& premises_;
  const ProofSearchLimits& limits_;
  std::vector<TriedMatches> tried_;  // by axiom
  std::size_t steps_left_;
  AlwaysDefined always_defined_;
  ProofSearch result_;
};

}  // namespace

std::vector<DirectedAxiom> directed(const std::vector<Substitution>& axioms) {
  std::vector<DirectedAxiom> result;
  for (const Substitution& axiom : axioms) {
    const bool reordering = reorders(axiom);
    if (is_pattern(axiom)) result.push_back({axiom, &axiom, false, reordering});
    if (axiom.search_forward) continue;
    Substitution backward = reversed(axiom);
    if (!axiom.bidirectional && !detail::check_left_binds(backward)) continue;
    if (is_pattern(backward) && !only_complicates(backward))
      result.push_back({std::move(backward), &axiom, true, reordering, !axiom.bidirectional});
  }
  return result;
}

ProofSearch saturate(Closure& terms, const std::vector<Goal>& goals,
                     const std::vector<const DirectedAxiom*>& axioms, const Premises& premises,
                     const ProofSearchLimits& limits) {
  return AxiomSaturator(terms, goals, axioms, premises, limits).run();
}

}  // namespace lemma::verifier
