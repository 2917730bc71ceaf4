#pragma once
// Real numbers in attributes of rules. A result is exact, or there is none: a rounded one would make two numbers one,
// and x * ((1e16 + 1) - 1e16) would be x * 0.

#include <optional>

#include "base/result.h"
#include "ir/attributes.h"

namespace lemma {

/// Exact results for finite numbers; nothing if f64 does not have the result.
std::optional<double> exact_sum(double a, double b);
std::optional<double> exact_difference(double a, double b);
std::optional<double> exact_product(double a, double b);
std::optional<double> exact_quotient(double a, double b);

/// Whether it is a real parameter of a proof, which is compared with other ones and 0 only.
inline bool is_real_symbol(const AttributeValue& value) {
  return std::holds_alternative<RealSymbol>(value);
}

/// Whether a <= b. An error for what are no numbers, and for a real parameter beside a number other than 0.
Result<bool> real_order(const AttributeValue& a, const AttributeValue& b);

}  // namespace lemma
