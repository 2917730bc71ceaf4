#pragma once
// Replays the proof of a certificate. Nothing in it is trusted: every axiom is instantiated and its
// guards are checked, and the type of every term is inferred.
//
// Each step is an equation or a refinement from left to right (docs/semantics.md, "Relations"), so that
// the chain proves what the rule claims of undefined elements as well.

#include "facts/observation.h"
#include "facts/partial.h"
#include "facts/run_time_conditions.h"
#include "ir/graph.h"
#include "rule_language/real_parameters.h"
#include "rule_language/rule_cases.h"
#include "rule_language/substitution_use.h"
#include "verifier/checker/certificate.h"

namespace lemma::checker {

/// One case of a proof: terms as values of a graph.
class Replay {
 public:
  /// `rule` is Certificate::terms; inputs without a written type have the type `real`.
  Replay(const Substitution& rule, const RuleCase& rule_case, DataType real)
      : rule_(rule),
        case_(rule_case),
        bindings_(rule_case.bindings),
        real_(real),
        real_parameters_(count_real_parameters(rule)) {}

  /// Builds both sides: the right one is defined where the left one is, with the same types; for
  /// `=` also the other way round.
  Result<void> begin();
  Result<void> apply(const Step& step);
  /// begin, all steps, and the comparison with the right side. Errors name the step.
  Result<void> run(const Chain& chain);
  /// Whether the claim is an equation whose right side is well typed by itself.
  bool claims_right_side();
  Graph& graph() { return graph_; }
  const Sides& sides() const { return sides_; }
  const std::vector<ValueId>& state() const { return state_; }
  /// After begin(): that no operator of the sides tells NaN from numbers in what may be undefined. A
  /// rule that does has to keep every bit.
  Result<void> check_observers();
  /// The uses of axioms by the steps so far.
  const std::vector<SubstitutionUse>& uses() const { return uses_; }

 private:
  /// `present` stands at the step's position.
  Result<SubstitutionUse> use_of(const Step& step, ValueId present);
  /// Checks that the claim allows the axiom in this direction, given what is defined at every
  /// element.
  Result<void> check_definedness(const Step& step, const SubstitutionUse& use, const Sides& sides);
  /// Whether an operator that tells NaN from numbers is on the way from an output to the position.
  Result<bool> is_observed(const Position& position) const;
  Result<void> check_numbers(const SubstitutionUse& use) const;
  /// Checks that none of the divisors may be 0, unless the left side divides by it too.
  Result<void> check_divisors(const std::vector<Dimension>& divisors) const;
  /// Checks that terms are not what they may not be: more demanding at run time than the left side,
  /// of shapes that depend on a real parameter.
  Result<void> check_terms(std::size_t first_node) const;

  const Substitution& rule_;
  const RuleCase& case_;
  RuleBindings bindings_;  // of the case, for the real type
  DataType real_;
  std::size_t real_parameters_;  // how many the rule has
  Graph graph_;
  AlwaysDefined always_defined_{graph_};
  std::size_t node_count_of_sides_ = 0;  // the first nodes of the graph
  std::vector<ValueId> inputs_, state_;
  Sides sides_;
  RunTimeConditions accepted_;                // what the left side assumes
  std::vector<Dimension> accepted_divisors_;  // and what it divides by
  std::vector<SubstitutionUse> uses_;
};

/// The beginning of the line of a case: "case A=[A.0] -> [A.0]".
std::string claim(const RuleCase& rule_case, const Graph& graph,
                  const std::vector<ValueId>& outputs);

/// Replays the chain in the case and returns the claim that it proves. The real type that inputs
/// stand for is no part of a case: with `all_types` others than f32 are replayed as well for
/// which the left side is well typed (of `=`, either side), so that no step depends on the type.
/// Unless the rule `keeps_bits` its sides may compare only what is defined.
Result<std::string> replay_case(const Substitution& rule, const RuleCase& rule_case,
                                const Chain& chain, bool all_types, bool keeps_bits = true);

/// Replays each case that the rule demands. The answer are the lines of these cases, "case A=[A.0] -> [A.0]
/// by 1", whose digest the certificate has too.
Result<std::vector<std::string>> check(const Certificate& certificate);

}  // namespace lemma::checker
