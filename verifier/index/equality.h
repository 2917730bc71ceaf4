#pragma once
// Equality of expressions for all values of sizes, indices and elements for which some facts hold.

#include <optional>

#include "verifier/index/composition.h"

namespace lemma::verifier::index {

/// True only if the polynomials are equal over the reals wherever the facts hold.
bool are_equal(const Polynomial& a, const Polynomial& b, const std::vector<Formula>& facts);

/// Without the terms whose domain is empty under the facts.
Polynomial without_empty_terms(const Polynomial& a, const std::vector<Formula>& facts);

}  // namespace lemma::verifier::index
