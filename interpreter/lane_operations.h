#pragma once
// The scalar operations behind the lane kernels, one struct each, overloaded by the type of the
// lane. Exact integers and field elements are wrapped so that they are types of their own.

#include <cstdint>

#include "lowering/field.h"
#include "lowering/scalar_operations.h"

namespace lemma::interpreter {

struct Exact {
  std::int64_t v;
  bool is_infinite() const { return v == INT64_MAX || v == INT64_MIN; }
};
using lowering::Residue;

// ---- Operations that cannot fail ---------------------------------------------------------------

using lowering::Add;
using lowering::Multiply;
using lowering::Subtract;
struct Minimum : lowering::Minimum {
  using lowering::Minimum::apply;
  static Exact apply(Exact a, Exact b) { return a.v < b.v ? a : b; }
};
struct Maximum : lowering::Maximum {
  using lowering::Maximum::apply;
  static Exact apply(Exact a, Exact b) { return a.v > b.v ? a : b; }
};
struct Equal : lowering::Equal {
  using lowering::Equal::apply;
  static std::uint8_t apply(Exact a, Exact b) { return a.v == b.v ? 1 : 0; }
};
struct Less : lowering::Less {
  using lowering::Less::apply;
  static std::uint8_t apply(Exact a, Exact b) { return a.v < b.v ? 1 : 0; }
};
struct LessEqual : lowering::LessEqual {
  using lowering::LessEqual::apply;
  static std::uint8_t apply(Exact a, Exact b) { return a.v <= b.v ? 1 : 0; }
};

// ---- Operations that may fail: `ok` becomes 0 --------------------------------------------------

struct CheckedDivide : lowering::CheckedDivide {
  using lowering::CheckedDivide::apply;
  static Residue apply(Residue a, Residue b, std::uint8_t& ok) {
    if (b.v == 0) return {ok = 0};
    return a / b;
  }
  static Exact apply(Exact a, Exact b, std::uint8_t& ok) {
    if (b.v == 0 || a.is_infinite() || b.is_infinite() || a.v % b.v != 0) return {ok = 0};
    return {a.v / b.v};
  }
};
struct CheckedModulo : lowering::CheckedModulo {
  using lowering::CheckedModulo::apply;
  static Exact apply(Exact a, Exact b, std::uint8_t& ok) {
    if (a.is_infinite() || b.is_infinite()) return {ok = 0};
    return {apply(a.v, b.v, ok)};
  }
};
struct CheckedFloorDivide : lowering::CheckedFloorDivide {
  using lowering::CheckedFloorDivide::apply;
  static Exact apply(Exact a, Exact b, std::uint8_t& ok) {
    if (a.is_infinite() || b.is_infinite()) return {ok = 0};
    return {apply(a.v, b.v, ok)};
  }
};
struct CheckedFloorModulo : lowering::CheckedFloorModulo {
  using lowering::CheckedFloorModulo::apply;
  static Exact apply(Exact a, Exact b, std::uint8_t& ok) {
    if (a.is_infinite() || b.is_infinite()) return {ok = 0};
    return {apply(a.v, b.v, ok)};
  }
};

/// A result beyond 64 bits, or from an infinity, is not a number of the domain.
template <typename Operation>
Exact exact_result(Exact a, Exact b, std::uint8_t& ok, Operation overflows) {
  std::int64_t result = 0;
  if (overflows(a.v, b.v, &result) || a.is_infinite() || b.is_infinite() ||
      Exact{result}.is_infinite())
    return {ok = 0};
  return {result};
}
struct CheckedAdd {
  static Exact apply(Exact a, Exact b, std::uint8_t& ok) {
    return exact_result(a, b, ok, [](std::int64_t x, std::int64_t y, std::int64_t* r) {
      return __builtin_add_overflow(x, y, r);
    });
  }
};
struct CheckedSubtract {
  static Exact apply(Exact a, Exact b, std::uint8_t& ok) {
    return exact_result(a, b, ok, [](std::int64_t x, std::int64_t y, std::int64_t* r) {
      return __builtin_sub_overflow(x, y, r);
    });
  }
};
struct CheckedMultiply {
  static Exact apply(Exact a, Exact b, std::uint8_t& ok) {
    return exact_result(a, b, ok, [](std::int64_t x, std::int64_t y, std::int64_t* r) {
      return __builtin_mul_overflow(x, y, r);
    });
  }
};
struct CheckedPower {
  static Exact apply(Exact a, Exact b, std::uint8_t& ok) {
    if (b.v < 0 || a.is_infinite() || b.is_infinite()) return {ok = 0};
    Exact result{1}, base = a;
    std::uint8_t base_ok = 1;
    for (std::int64_t e = b.v; e != 0; e >>= 1) {
      if ((e & 1) != 0) {
        if (base_ok == 0) return {ok = 0};
        result = CheckedMultiply::apply(result, base, ok);
      }
      base = CheckedMultiply::apply(base, base, base_ok);
    }
    return result;
  }
};

}  // namespace lemma::interpreter
