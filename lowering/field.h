#pragma once
// Arithmetic modulo the Mersenne prime 2^61 - 1. Operands and results lie in [0, modulus). Emitted source over the
// field includes this file, which needs only the standard library.

#include <cstdint>

namespace lemma::lowering {

/// A Mersenne prime, so that reduction is a shift and an addition.
inline constexpr std::uint64_t field_modulus = (std::uint64_t{1} << 61) - 1;

inline std::uint64_t field_add(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t sum = a + b;
  return sum >= field_modulus ? sum - field_modulus : sum;
}
inline std::uint64_t field_subtract(std::uint64_t a, std::uint64_t b) {
  return a >= b ? a - b : a + field_modulus - b;
}
inline std::uint64_t field_multiply(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  // 2^61 = 1 modulo the prime: the two halves of the product are added.
  return field_add(static_cast<std::uint64_t>(product) & field_modulus,
                   static_cast<std::uint64_t>(product >> 61));
}
inline std::uint64_t field_power(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1U) != 0) result = field_multiply(result, base);
    base = field_multiply(base, base);
  }
  return result;
}
/// By Fermat's little theorem; 0 has none and gives 0.
inline std::uint64_t field_inverse(std::uint64_t a) { return field_power(a, field_modulus - 2); }
inline std::uint64_t field_of(std::int64_t value) {
  const std::int64_t rest = value % static_cast<std::int64_t>(field_modulus);
  return rest < 0 ? static_cast<std::uint64_t>(rest) + field_modulus
                  : static_cast<std::uint64_t>(rest);
}

/// An element of the field, as a scalar.
struct Residue {
  std::uint64_t v;

  static Residue of(std::int64_t value) { return {field_of(value)}; }
  friend Residue operator+(Residue a, Residue b) { return {field_add(a.v, b.v)}; }
  friend Residue operator-(Residue a, Residue b) { return {field_subtract(a.v, b.v)}; }
  friend Residue operator*(Residue a, Residue b) { return {field_multiply(a.v, b.v)}; }
  /// A quotient by zero is undefined, and 0 here.
  friend Residue operator/(Residue a, Residue b) {
    return {field_multiply(a.v, field_inverse(b.v))};
  }
  friend Residue operator-(Residue a) { return {field_subtract(0, a.v)}; }
  friend bool operator==(Residue a, Residue b) { return a.v == b.v; }
};

}  // namespace lemma::lowering
