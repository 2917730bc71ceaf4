#pragma once
// From a term that equals a target on a region to a rule that is fully true: the target becomes the other term on the
// region, and itself on the rest (docs/partial_equivalence.md).

#include <string>
#include <vector>

#include "partial/region.h"
#include "rule_language/substitution.h"
#include "verifier/index/prove_axiom.h"

namespace lemma::partial {

/// What is claimed of one box, and its proof for all sizes.
struct ProvedBox {
  Box box;
  Substitution claim;  // a Slice of the target is the same Slice of the other term
  verifier::IndexProof proof;
};

struct Correction {
  Substitution rule;  // the target becomes a Concat of parts
  std::vector<ProvedBox> boxes;
  /// The region as it is proved: what was fitted, or less.
  Region region;
  std::string reason;  // not empty: there is no rule
};

/// `partial` has the target on the left and the other term on the right, one output, and is true on `region`
/// at some choices of sizes. Boxes that have no proof are made smaller by one or two indices at each
/// side that is not a border; if that does not help either, there is no rule. Variables get the least values for which no part is smaller
/// than nothing; if there is no proof, one of them, or all, are taken to be positive.
Correction corrected(Substitution partial, Region region);

/// The rule as the index prover takes it: inputs of which the right side reads more elements than the left side are declared
/// `defined`.
verifier::IndexProof proof_with_defined_inputs(Substitution& rule);

}  // namespace lemma::partial
