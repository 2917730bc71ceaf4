#pragma once
// Whether an expression is never negative where it is defined, judged by its form.

#include "verifier/index/expression.h"

namespace lemma::verifier::index {

/// Rectified or absolute values, exponentials, roots, positive numbers, sizes, inverses and maxima
/// of such.
bool is_nonnegative(const Factor& factor);
/// A product or sum, with a coefficient that is not negative, in which every factor is not negative
/// or stands an even number of times.
bool is_nonnegative(const Term& term);
bool is_nonnegative(const Polynomial& value);

}  // namespace lemma::verifier::index
