#pragma once
// The representation of elements during evaluation: the number domain of real types, and the format
// of an element of each type in it.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/data_type.h"
#include "lowering/field.h"

namespace lemma::lowering {

using Sizes = std::vector<std::int64_t>;

/// Real-typed elements are computed in it. Integer and boolean elements are computed the same way in all
/// of them: exactly, in 64 bits, wrapped to their width on store.
enum class Domain : std::uint8_t {
  native,  // the type's own format: f32 in f32, f64 in f64; f16 and bf16 in f32, rounded on store
  f64,     // every real type in f64
  exact_integer,  // reals are integers in 64 bits; overflow and inexact division are errors
  prime_field,    // reals are residues modulo 2^61 - 1; what needs an order is unsupported
};
std::string_view name(Domain domain);

/// How elements are held while they are computed with.
enum class LaneKind : std::uint8_t {
  boolean,  // std::uint8_t, 0 or 1
  integer,  // std::int64_t, for all integer types and codes of narrow types
  f32,      // float
  f64,      // double
  exact,    // std::int64_t; the two extreme values are the infinities
  field,    // std::uint64_t below field_modulus
};

/// Whether real elements are held as values of a type with + and *: numbers of a machine, or residues.
constexpr bool is_scalar_type(LaneKind kind) {
  return kind == LaneKind::f32 || kind == LaneKind::f64 || kind == LaneKind::field;
}

LaneKind lane_kind(DataType type, Domain domain);
constexpr std::size_t lane_size(LaneKind kind) {
  return kind == LaneKind::boolean ? 1 : kind == LaneKind::f32 ? 4 : 8;
}

/// Bits of a constant as one lane. Errors where the domain cannot represent it.
Result<std::uint64_t> constant_lane(double real, std::int64_t integer, DataType type,
                                    Domain domain);

/// A finite real number as a residue: as the ratio p/q with the least q <= 4096 that rounds to it
/// in its type, otherwise as the binary fraction it is.
std::uint64_t field_constant(double value, DataType type);

}  // namespace lemma::lowering
