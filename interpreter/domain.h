#pragma once
// The number domain in which real-typed elements are computed. Integer and boolean elements are
// computed the same way in all of them: exactly, in 64 bits, wrapped to their width on store.

#include <cstdint>
#include <string_view>

namespace lemma::interpreter {

enum class Domain : std::uint8_t {
  native,  // the type's own format: f32 in f32, f64 in f64; f16 and bf16 in f32, rounded on store
  f64,     // every real type in f64
  exact_integer,  // reals are integers in 64 bits; overflow and inexact division are errors
  prime_field,    // reals are residues modulo 2^61 - 1; what needs an order is unsupported
};

constexpr std::string_view name(Domain domain) {
  switch (domain) {
    case Domain::native: return "native";
    case Domain::f64: return "f64";
    case Domain::exact_integer: return "exact integers";
    case Domain::prime_field: return "prime field";
  }
  return "";
}

/// The modulus of the prime field: a Mersenne prime, so that reduction is a shift and an addition.
inline constexpr std::uint64_t field_modulus = (std::uint64_t{1} << 61) - 1;

}  // namespace lemma::interpreter
