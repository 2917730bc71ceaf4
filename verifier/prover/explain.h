#pragma once
// From "these values are equal" to a chain of rewriting steps: an explanation of an equality in a
// closure, each step at one position of a term. Equations are used in both directions. Refinements
// that are not known to be equations are used from left to right only.

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "base/result.h"
#include "verifier/prover/saturate.h"

namespace lemma::verifier {

struct ProofRewrite {
  std::vector<std::uint32_t> position;  // the number of a goal, then operand numbers
  std::size_t step = 0;                 // in ProofSearch::steps
  std::uint32_t output = 0;             // of the step's axiom
  bool backward = false;                // from the right side of the axiom, as written, to its left
};

struct ProofExplanation {
  /// Steps that turn the left values of the goals, in order, into the right ones; nothing if every
  /// way found uses a refinement from right to left.
  std::optional<std::vector<ProofRewrite>> chain;
  /// Axioms that would have been used so.
  std::set<const Substitution*> misused;
};

/// An error if the chain would be too long.
Result<ProofExplanation> explain(const Closure& terms, const std::vector<Goal>& goals,
                                 const std::vector<AxiomUse>& steps);

}  // namespace lemma::verifier
