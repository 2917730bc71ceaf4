#pragma once
// The scalar operations behind the lane kernels, one struct each, overloaded by the type of the
// lane. Exact integers and field elements are wrapped so that they are types of their own.

#include <cmath>
#include <cstdint>
#include <limits>

#include "interpreter/field.h"

namespace lemma::interpreter {

struct Exact {
  std::int64_t v;
  bool is_infinite() const { return v == INT64_MAX || v == INT64_MIN; }
};
struct Residue {
  std::uint64_t v;
};

// ---- Operations that cannot fail ---------------------------------------------------------------

template <typename T>
T wrapped(std::uint64_t value) {
  return static_cast<T>(value);
}

struct Add {
  static float apply(float a, float b) { return a + b; }
  static double apply(double a, double b) { return a + b; }
  static std::int64_t apply(std::int64_t a, std::int64_t b) {
    return wrapped<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
  static Residue apply(Residue a, Residue b) { return {field_add(a.v, b.v)}; }
};
struct Subtract {
  static float apply(float a, float b) { return a - b; }
  static double apply(double a, double b) { return a - b; }
  static std::int64_t apply(std::int64_t a, std::int64_t b) {
    return wrapped<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  }
  static Residue apply(Residue a, Residue b) { return {field_subtract(a.v, b.v)}; }
};
struct Multiply {
  static float apply(float a, float b) { return a * b; }
  static double apply(double a, double b) { return a * b; }
  static std::int64_t apply(std::int64_t a, std::int64_t b) {
    return wrapped<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
  static Residue apply(Residue a, Residue b) { return {field_multiply(a.v, b.v)}; }
};
struct Divide {
  template <typename T>
  static T apply(T a, T b) {
    return a / b;
  }
};
struct FloorDivide {
  template <typename T>
  static T apply(T a, T b) {
    return std::floor(a / b);
  }
};
struct TruncatedModulo {
  template <typename T>
  static T apply(T a, T b) {
    return std::fmod(a, b);
  }
};
struct FloorModulo {
  template <typename T>
  static T apply(T a, T b) {
    const T rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
};
struct Power {
  template <typename T>
  static T apply(T a, T b) {
    return std::pow(a, b);
  }
  static std::int64_t apply(std::int64_t a, std::int64_t b) {
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 != 0 ? -1 : 1) : 0;
    std::uint64_t result = 1, base = static_cast<std::uint64_t>(a);
    for (auto e = static_cast<std::uint64_t>(b); e != 0; e >>= 1, base *= base)
      if ((e & 1U) != 0) result *= base;
    return wrapped<std::int64_t>(result);
  }
};
// Without branches, and NaN where an operand is NaN: a comparison with NaN is false.
struct Minimum {
  template <typename T>
  static T apply(T a, T b) {
    return a < b || a != a ? a : b;
  }
  static Exact apply(Exact a, Exact b) { return a.v < b.v ? a : b; }
};
struct Maximum {
  template <typename T>
  static T apply(T a, T b) {
    return a > b || a != a ? a : b;
  }
  static Exact apply(Exact a, Exact b) { return a.v > b.v ? a : b; }
};
struct Equal {
  template <typename T>
  static std::uint8_t apply(T a, T b) {
    return a == b ? 1 : 0;
  }
  static std::uint8_t apply(Exact a, Exact b) { return a.v == b.v ? 1 : 0; }
  static std::uint8_t apply(Residue a, Residue b) { return a.v == b.v ? 1 : 0; }
};
struct Less {
  template <typename T>
  static std::uint8_t apply(T a, T b) {
    return a < b ? 1 : 0;
  }
  static std::uint8_t apply(Exact a, Exact b) { return a.v < b.v ? 1 : 0; }
};
struct LessEqual {
  template <typename T>
  static std::uint8_t apply(T a, T b) {
    return a <= b ? 1 : 0;
  }
  static std::uint8_t apply(Exact a, Exact b) { return a.v <= b.v ? 1 : 0; }
};
struct BitAnd {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <typename T>
  static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
// Shifts by less than 0 or more than 63 places move every bit out.
struct ShiftLeft {
  static std::int64_t apply(std::int64_t a, std::int64_t b) {
    return b < 0 || b > 63 ? 0 : wrapped<std::int64_t>(static_cast<std::uint64_t>(a) << b);
  }
};
struct ShiftRight {
  static std::int64_t apply(std::int64_t a, std::int64_t b) {
    return a >> (b < 0 || b > 63 ? 63 : b);
  }
  static std::uint64_t apply(std::uint64_t a, std::uint64_t b) { return b > 63 ? 0 : a >> b; }
};

// ---- Operations that may fail: `ok` becomes 0 --------------------------------------------------

struct CheckedDivide {
  static std::int64_t apply(std::int64_t a, std::int64_t b, std::uint8_t& ok) {
    if (b == 0) return ok = 0;
    return b == -1 ? Subtract::apply(0, a) : a / b;
  }
  static std::uint64_t apply(std::uint64_t a, std::uint64_t b, std::uint8_t& ok) {
    if (b == 0) return ok = 0;
    return a / b;
  }
  static Residue apply(Residue a, Residue b, std::uint8_t& ok) {
    if (b.v == 0) return {ok = 0};
    return {field_multiply(a.v, field_inverse(b.v))};
  }
  static Exact apply(Exact a, Exact b, std::uint8_t& ok) {
    if (b.v == 0 || a.is_infinite() || b.is_infinite() || a.v % b.v != 0) return {ok = 0};
    return {a.v / b.v};
  }
};
struct CheckedModulo {
  static std::int64_t apply(std::int64_t a, std::int64_t b, std::uint8_t& ok) {
    if (b == 0) return ok = 0;
    return b == -1 ? 0 : a % b;
  }
  static std::uint64_t apply(std::uint64_t a, std::uint64_t b, std::uint8_t& ok) {
    if (b == 0) return ok = 0;
    return a % b;
  }
  static Exact apply(Exact a, Exact b, std::uint8_t& ok) {
    if (a.is_infinite() || b.is_infinite()) return {ok = 0};
    return {apply(a.v, b.v, ok)};
  }
};
struct CheckedFloorDivide {
  static std::int64_t apply(std::int64_t a, std::int64_t b, std::uint8_t& ok) {
    if (b == 0) return ok = 0;
    if (b == -1) return Subtract::apply(0, a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  }
  static Exact apply(Exact a, Exact b, std::uint8_t& ok) {
    if (a.is_infinite() || b.is_infinite()) return {ok = 0};
    return {apply(a.v, b.v, ok)};
  }
};
struct CheckedFloorModulo {
  static std::int64_t apply(std::int64_t a, std::int64_t b, std::uint8_t& ok) {
    if (b == 0) return ok = 0;
    if (b == -1) return 0;
    return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
  }
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
