#pragma once
// Equality of expressions for all values of sizes, indices and elements for which some facts hold.

#include <optional>

#include "verifier/index/composition.h"

namespace lemma::verifier::index {

/// True only if the polynomials are equal over the reals wherever the facts hold.
bool are_equal(const Polynomial& a, const Polynomial& b, const std::vector<Formula>& facts);

/// What is said about the sign of a value.
struct Claim {
  enum class Kind { nonnegative, positive, nonzero };
  Polynomial value;
  Kind kind = Kind::nonnegative;
};

/// True only if what is given implies what is wanted, wherever the facts hold.
bool follows(const std::vector<Claim>& given, const Claim& wanted,
             const std::vector<Formula>& facts);

/// The polynomial without the terms whose domain is empty under the facts.
Polynomial without_empty_terms(const Polynomial& a, const std::vector<Formula>& facts);

}  // namespace lemma::verifier::index
