#pragma once
// Index proofs: an axiom follows, for all sizes, from the definitions of its operators.
// docs/index_proofs.md describes the claim, the proof and what is trusted.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "rule_language/rule_cases.h"
#include "rule_language/substitution.h"

namespace lemma::verifier {

struct IndexProof {
  bool proved = false;
  std::size_t cases =
      0;  // ranks, sizes of 1, permutations, orders of parameters: proved one by one
  /// Choices of ranks that follow from the claim for scalars: rule_language/axis_wise.h.
  std::size_t by_axes = 0;
  std::string reason;  // not proved: the first case that fails, and both sides as far as they got
  /// The obligation: inputs of which the right side reads elements that the left side does not read.
  /// The claim from left to right is true where these are defined. With assume_defined only.
  std::set<std::string> reads_more;
};

struct IndexOptions {
  /// All inputs are taken to be defined, and `reads_more` says of which that was needed.
  bool assume_defined = false;
  /// The rule keeps every bit (rules/axioms.rounding), so that what it compares may be undefined.
  bool keeps_bits = false;
  /// That it does so is proved as well: from the order of operations, for floating-point numbers (same_bits.h).
  bool proves_bits = false;
};

/// The claim as it is written (docs/semantics.md, "Relations"): an equation is proved in both
/// directions, a refinement from left to right.
IndexProof prove_by_index(const Substitution& axiom, const IndexOptions& options = {});

/// One case of a proof, from left to right, for people: what is supposed, and for each output the element
/// at the indices _i0, _i1, ... as both sides compute it, in normal form. Elements of the inputs are x0[...],
/// x1[...], ....
struct IndexCase {
  struct Piece {
    std::string where;  // empty: everywhere
    std::string value;
  };
  struct Output {
    std::string range;  // of the indices
    std::vector<Piece> left, right;
  };
  std::string objection;  // not empty: the case is not proved, and nothing is shown
  std::vector<std::string> hypotheses;
  std::vector<Output> outputs;
};
/// Proves the case anew. Real parameters have the values that the case gives them.
IndexCase show_index_case(const Substitution& rule, const RuleCase& rule_case);

}  // namespace lemma::verifier
