#pragma once
// The maximum of an element over a set of indices.

#include <vector>

#include "verifier/index/expression.h"

namespace lemma::verifier::index {

/// The greatest of 0 and each e of a `v - e >= 0` in the domain in which only v is bound.
Dimension least_value(const std::vector<Bound>& bound, const Formula& domain,
                      const Bound& variable);

/// The maximum of `value` where the variables are in their ranges and `domain` holds, written as
/// sums, products, maxima and maxima over sets of simpler elements. `known` is what is known of
/// sizes and free variables; it is asked whether the set is surely not empty.
Polynomial greatest_over(std::vector<Bound> bound, Formula domain, const Polynomial& value,
                         const std::vector<Formula>& known);

}  // namespace lemma::verifier::index
