#include "rule_language/real_arithmetic.h"

#include <cmath>

#include <fmt/format.h>

#include "ir/attribute_conversion.h"

namespace lemma {
namespace {

/// Below it the rest of a product may not be a number of f64.
constexpr double least_exact = 0x1p-960;

std::optional<double> finite(double value) {
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

/// The place in the order: the rank of a real parameter, 0 for 0.
std::optional<std::int64_t> rank_of(const AttributeValue& value) {
  if (const auto* symbol = std::get_if<RealSymbol>(&value)) return symbol->rank;
  if (to_real(value) == 0.0) return 0;
  return std::nullopt;
}

}  // namespace

std::optional<double> exact_sum(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return std::nullopt;
  // Knuth's sum of two numbers: what rounding took away.
  const double second = sum - a;
  const double rest = (a - (sum - second)) + (b - second);
  if (rest != 0) return std::nullopt;
  return sum;
}

std::optional<double> exact_difference(double a, double b) { return exact_sum(a, -b); }

std::optional<double> exact_product(double a, double b) {
  if (a == 0 || b == 0) return finite(a * b);
  const double product = a * b;
  if (!std::isfinite(product) || std::abs(product) < least_exact) return std::nullopt;
  if (std::fma(a, b, -product) != 0) return std::nullopt;
  return product;
}

std::optional<double> exact_quotient(double a, double b) {
  if (b == 0) return std::nullopt;
  if (a == 0) return finite(a / b);
  const double quotient = a / b;
  if (!std::isfinite(quotient) || std::abs(quotient) < least_exact || std::abs(a) < least_exact)
    return std::nullopt;
  if (std::fma(quotient, b, -a) != 0) return std::nullopt;
  return quotient;
}

Result<bool> real_order(const AttributeValue& a, const AttributeValue& b) {
  if (is_real_symbol(a) || is_real_symbol(b)) {
    const auto x = rank_of(a), y = rank_of(b);
    if (!x || !y)
      return bad_input(
          fmt::format("{} and {}: it compares a real parameter with a number", text(a), text(b)));
    return *x <= *y;
  }
  const auto x = to_real(a), y = to_real(b);
  if (!x || !y || std::isnan(*x) || std::isnan(*y))
    return bad_input("the arguments are not numbers");
  return *x <= *y;
}

}  // namespace lemma
