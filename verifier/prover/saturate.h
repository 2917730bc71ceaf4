#pragma once
// Equality saturation with axioms: the untrusted search for a proof. What it finds is a list of
// axiom instances, which the checker replays on its own.
//
// It does not use the e-graph of the search (egraph/): a proof also unites what only refines each other, keeps every term
// as it was built, and lets reordering axioms wait, so that its classes are no classes of equal terms. With the same axioms
// and limits on terms and rounds, on at most 6 cases of each rule, this search proves 1056 of the 1059 shipped rules in 33 s
// of processor time, and the e-graph with egraph/saturation.h 916 of them in 40 s (bench/egraph_proofs.cpp). To share it
// would lose proofs and gain no time, and the order of steps in the shipped certificates depends on this one.

#include <set>
#include <string>
#include <vector>

#include "rule_language/substitution.h"
#include "verifier/prover/closure.h"

namespace lemma::verifier {

struct DirectedAxiom;

/// An axiom at given terms. The claim is that its two sides, built over `inputs`, are equal.
struct AxiomUse {
  const Substitution* axiom = nullptr;
  std::vector<ValueId> inputs;
  RuleBindings bindings;
  // How the search came to it.
  const DirectedAxiom* directed = nullptr;
  std::vector<NodeId> nodes;  // for each term of the pattern
  std::size_t known = 0;      // equalities of the closure when the pattern was found
  bool is_equation = true;    // of a refinement: its left side is defined at every element

  /// Whether a proof of the rule may rewrite by it in this direction of the axiom as written.
  bool allows(bool backward) const { return is_equation || !backward; }
};

struct ProofSearchLimits {
  int rounds = 12;
  int rounds_in_order = 6;        // after these also reordering axioms are applied
  std::size_t nodes = 3000;       // terms in the graph
  std::size_t matches = 1500;     // of one axiom in one round
  std::size_t steps = 3'000'000;  // of matching in all rounds; no shipped rule needs a fifth of it
};

struct Goal {
  ValueId left, right;
};

/// What the search may take for granted of the rule.
struct Premises {
  std::vector<ValueId> defined;  // inputs without undefined elements
  /// Refinements are applied only where their left side is always defined, so that they are
  /// equations. Otherwise classes hold what refines each other, and an explanation has to look after
  /// directions.
  bool equations_only = true;
  std::set<const Substitution*> only_as_equations;  // the same for these axioms
  /// Refinements are matched on their right sides too, so that a chain can be found from where it ends.
  bool from_the_goal = false;
};

struct ProofSearch {
  bool reached = false;  // every goal's sides are equal
  std::string stopped;   // otherwise: what ended the search
  std::vector<AxiomUse> steps;
};

/// An axiom as a rewriting rule in one direction. Reordering ones (commutativity, associativity)
/// are tried only after the others have found nothing new.
struct DirectedAxiom {
  Substitution rule;                     // its left side is the pattern
  const Substitution* origin = nullptr;  // as written
  bool backward = false;                 // `rule` is the axiom read from right to left
  bool reorders = false;
  bool from_the_goal = false;  // a refinement that is matched on its right side
};
std::vector<DirectedAxiom> directed(const std::vector<Substitution>& axioms);

ProofSearch saturate(Closure& terms, const std::vector<Goal>& goals,
                     const std::vector<const DirectedAxiom*>& axioms, const Premises& premises,
                     const ProofSearchLimits& limits);

}  // namespace lemma::verifier
