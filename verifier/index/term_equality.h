#pragma once
// Equality of single terms and factors, up to the names and the choice of bound variables.

#include "verifier/index/expression.h"

namespace lemma::verifier::index {

/// True only if both are equal wherever the facts hold.
bool equal_factors(const Factor& a, const Factor& b, const std::vector<Formula>& facts);
/// The same, but for the coefficients.
bool equal_terms(const Term& a, const Term& b, const std::vector<Formula>& facts);

/// The same value where the facts hold: terms that are equal become one, and sums that are zero together, as they
/// add up the same over parts of one domain, are left out.
Polynomial merged(const Polynomial& a, const std::vector<Formula>& facts);

}  // namespace lemma::verifier::index
