#pragma once
// Facts of sums, products and functions of elements. `integer`: both are integers, computed in 64
// bits (ir/definition.h); nothing is known of a result that may overflow.

#include "facts/value_facts.h"
#include "ir/definition.h"

namespace lemma::facts {

/// A number that is known.
ValueFacts number(double value);
/// A real parameter of a proof: a number above or below 0.
ValueFacts of_symbol(std::int64_t rank);
/// Defined and finite, between two bounds.
ValueFacts range(double lower, double upper);

ValueFacts add(const ValueFacts& a, const ValueFacts& b, bool integer);
ValueFacts subtract(const ValueFacts& a, const ValueFacts& b, bool integer);
ValueFacts multiply(const ValueFacts& a, const ValueFacts& b, bool integer);
/// x * x.
ValueFacts square(const ValueFacts& a, bool integer);
ValueFacts divide(const ValueFacts& a, const ValueFacts& b, bool integer);
/// Quotients and remainders of integers and reals; the sign is that of the divisor, or of the
/// dividend.
ValueFacts floor_divide(const ValueFacts& a, const ValueFacts& b);
ValueFacts modulo(const ValueFacts& a, const ValueFacts& b, bool as_dividend, bool integer);
ValueFacts power(const ValueFacts& a, const ValueFacts& b, bool integer);
ValueFacts minimum(const ValueFacts& a, const ValueFacts& b);
ValueFacts maximum(const ValueFacts& a, const ValueFacts& b);
ValueFacts apply(ScalarFunction function, const ValueFacts& a);

/// A sum or product of at least `least` and at most `most` elements.
ValueFacts sum(const ValueFacts& body, double least, double most, bool integer);
ValueFacts product(const ValueFacts& body, bool integer);

}  // namespace lemma::facts
