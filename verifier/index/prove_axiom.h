#pragma once
// Index proofs: an axiom follows, for all sizes, from the definitions of its operators.
// docs/index_proofs.md says what is claimed, how it is proved and what is trusted.

#include <cstdint>
#include <string>

#include "ir/substitution.h"

namespace lemma::verifier {

struct IndexProof {
  bool proved = false;
  std::size_t cases =
      0;  // ranks, sizes of 1, permutations, orders of parameters: proved one by one
  /// Choices of ranks with too many cases to go through; they follow because every axis of them is
  /// treated as axes of smaller ranks are.
  std::size_t by_uniformity = 0;
  std::string reason;  // not proved: the first case that fails, and both sides as far as they got
};

/// An equation is proved in both directions.
IndexProof prove_by_index(const Substitution& axiom);

/// Digest of the definitions that a few of its cases use: changes where a definition does.
std::uint64_t definitions_digest(const Substitution& axiom);

}  // namespace lemma::verifier
