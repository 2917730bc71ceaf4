#pragma once
// Functions of single f32 elements without branches or calls, so that loops over elements become vectors. Their results
// are within a few units in the last place of the exact ones; those of the standard library take their place with
// EXACT_FUNCTIONS.
//
// The polynomials are interpolations at Chebyshev nodes.

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <type_traits>

#if __has_include("scalar_operations.h")
#include "scalar_operations.h"
#else
#include "lowering/scalar_operations.h"
#endif

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || \
    defined(__NO_SIGNED_ZEROS__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ != 0)
#error \
    "compile without -ffast-math, -Ofast and their parts: sums are rounded in a fixed order, and infinities and NaN occur"
#endif
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "compile so that float and double have no excess precision (-msse2 -mfpmath=sse on x86)"
#endif

namespace {
namespace fast {

/// a * b + c, rounded once where the processor has an instruction for it: said here and not left to the compiler, which
/// would take it in some loops and not in others. Without it, and with EXACT_FUNCTIONS, rounded twice.
template <typename T>
inline T multiply_add(T a, T b, T c) {
#if (defined(__FMA__) || defined(__aarch64__)) && !defined(EXACT_FUNCTIONS)
  if constexpr (std::is_same_v<T, float>)
    return __builtin_fmaf(a, b, c);
  else if constexpr (std::is_same_v<T, double>)
    return __builtin_fma(a, b, c);
  else
    return a * b + c;
#else
  return a * b + c;
#endif
}

/// What a quotient by b is made of: a / b = a (inverse + rest) scale. The rest has the sign of the inverse and is never 0 beside a
/// finite one, so that zeros keep their signs and infinities stay what they are.
struct Inverse {
  float inverse, rest, scale;
};
inline Inverse inverse_of(float b) {
  const float size = std::abs(b);
  // The inverse of the least numbers is not finite, and that of the greatest ones has few digits.
  const float scale = size < 0x1p-100F ? 0x1p64F : size > 0x1p100F ? 0x1p-64F : 1.0F;
  const float scaled = b * scale, nearest = 1.0F / scaled;
  const std::uint32_t is_above = multiply_add(-nearest, scaled, 1.0F) < 0.0F ? 1U : 0U;
  const auto inverse = std::bit_cast<float>(std::bit_cast<std::uint32_t>(nearest) - is_above);
  const float left = multiply_add(-inverse, scaled, 1.0F);
  return {inverse, inverse * (left > 0.0F ? left : 0x1p-60F), scale};
}

/// a / b, where b is the same for many a: compilers compute what is made of b alone once. It is the nearest quotient, but for
/// rare ones that lie almost in the middle of two numbers, or close to the least ones; an exact quotient is exact. Without an
/// instruction for multiply_add a division.
inline float quotient(float a, float b) {
#if defined(__FMA__) && !defined(EXACT_FUNCTIONS) && !defined(__CUDACC__)
  const Inverse of_b = inverse_of(b);
  return multiply_add(a, of_b.inverse, a * of_b.rest) * of_b.scale;
#else
  return a / b;
#endif
}

/// a to the power of b. The exponents that models have most often are decided in front of a loop, where they are the same for
/// all of it.
template <typename T>
inline T power(T a, T b) {
#ifndef EXACT_FUNCTIONS
  if (b == T{2}) return a * a;
  if (b == T{3}) return a * a * a;
  // The power of -0 is 0, and that of -infinity is infinite.
  if (b == T(0.5)) return a == -static_cast<T>(INFINITY) ? -a : std::sqrt(a) + T{0};
#endif
  return lemma::lowering::Power::apply(a, b);
}

#ifdef EXACT_FUNCTIONS
using lemma::lowering::functions::acos;
using lemma::lowering::functions::acosh;
using lemma::lowering::functions::asin;
using lemma::lowering::functions::asinh;
using lemma::lowering::functions::atan;
using lemma::lowering::functions::atanh;
using lemma::lowering::functions::cos;
using lemma::lowering::functions::cosh;
using lemma::lowering::functions::erf;
using lemma::lowering::functions::exp;
using lemma::lowering::functions::log;
using lemma::lowering::functions::sin;
using lemma::lowering::functions::sinh;
using lemma::lowering::functions::tan;
using lemma::lowering::functions::tanh;
#else

/// c[0] + c[1] x + c[2] x^2 + ...
template <typename... More>
inline float polynomial(float x, float first, More... more) {
  if constexpr (sizeof...(more) == 0)
    return first;
  else
    return multiply_add(x, polynomial(x, more...), first);
}

/// exp(x) 2^shift = 2^n exp(r), where |r| <= log(2) / 2.
template <std::int32_t shift>
inline float exp_times_power(float x) {
  // Adding it rounds to an integer: n + shift and twice the bias of exponents, which the last bits are.
  constexpr float rounder = 0x1.8p23F + 254 + shift;
  // Beyond 90 the result is infinite: 2^130 is, and what is left of x is no less than 0 there.
  constexpr std::int32_t greatest = std::bit_cast<std::int32_t>(rounder + 130);
  const auto bits = std::bit_cast<std::int32_t>(multiply_add(x, 0x1.715476p0F, rounder));
  const std::int32_t shifted = bits < greatest ? bits : greatest;
  const float n = std::bit_cast<float>(shifted) - rounder;
  const float r = multiply_add(n, -0x1.7f7d1cp-20F, multiply_add(n, -0x1.62e4p-1F, x));
  const float q =
      polynomial(r, 0.49999998F, 0.16666577F, 0.041666457F, 0.0083631812F, 0.0013933696F);
  const float above = multiply_add(r * r, q, r);
  // In two steps: the power of two alone may be too large or too small.
  const std::uint32_t both = static_cast<std::uint32_t>(shifted) << 23U;
  constexpr std::uint32_t without_mantissa = 0xff800000U;
  const std::uint32_t half = both >> 1U & without_mantissa;
  const auto power = std::bit_cast<float>(half), rest = std::bit_cast<float>(both - half);
  const float inside = multiply_add(above, power, power) * rest;
  return x < -104.0F ? 0.0F : inside;
}

inline float exp(float x) { return exp_times_power<0>(x); }

/// exp(x) as power (1 + above), for x between -87 and 88.
struct NearPower {
  float power, above;
};
inline NearPower near_power(float x) {
  constexpr float rounder = 0x1.8p23F + 127;  // as above, with the bias once
  const float shifted = multiply_add(x, 0x1.715476p0F, rounder), n = shifted - rounder;
  const float r = multiply_add(n, -0x1.7f7d1cp-20F, multiply_add(n, -0x1.62e4p-1F, x));
  const float q =
      polynomial(r, 0.49999998F, 0.16666577F, 0.041666457F, 0.0083631812F, 0.0013933696F);
  return {std::bit_cast<float>(std::bit_cast<std::uint32_t>(shifted) << 23U),
          multiply_add(r * r, q, r)};
}

/// tanh(x) = e / (e + 2), where e = exp(2 x) - 1 has no digits that cancel.
inline float tanh(float x) {
  const float size = std::abs(x);
  const float bounded = size > 9.1F ? 9.1F : size;  // the result is 1 from there on
  const NearPower twice = near_power(bounded + bounded);
  const float e = multiply_add(twice.above, twice.power, twice.power - 1.0F);
  return std::copysign(e / (e + 2.0F), x);
}

inline float erf(float x) {
  const float size = std::abs(x), z = x * x;
  const float near = multiply_add(x,
                                  polynomial(z, 1.28379166e-1F, -3.76125336e-1F, 1.12819925e-1F,
                                             -2.67681349e-2F, 4.99119423e-3F, -5.96761703e-4F),
                                  x);
  // 1 - erf is a power whose exponent is close to a polynomial; beyond 4 it is less than half a unit in the last place of 1.
  const float bounded = size > 4.0F ? 4.0F : size;
  const float exponent =
      multiply_add(bounded,
                   polynomial(bounded, -1.28717512e-1F, -6.34846687e-1F, -1.06777877e-1F,
                              2.42546219e-2F, -3.88396438e-3F, 3.83197126e-4F, -1.72853470e-5F),
                   -bounded);
  const NearPower rest = near_power(exponent);
  const float far = multiply_add(-rest.above, rest.power, 1.0F - rest.power);
  return size < 0.927734375F ? near : std::copysign(far, x);
}

#ifdef __CUDACC__
// A device has no table of the host, and no vectors to make.
using lemma::lowering::functions::acos;
using lemma::lowering::functions::acosh;
using lemma::lowering::functions::asin;
using lemma::lowering::functions::asinh;
using lemma::lowering::functions::atan;
using lemma::lowering::functions::atanh;
using lemma::lowering::functions::cos;
using lemma::lowering::functions::cosh;
using lemma::lowering::functions::log;
using lemma::lowering::functions::sin;
using lemma::lowering::functions::sinh;
using lemma::lowering::functions::tan;
#else

/// One of two values that both are computed: compilers would make branches of a choice between long computations.
inline float chosen(bool condition, float a, float b) {
  const std::uint32_t mask = 0U - static_cast<std::uint32_t>(condition);
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(a) & mask) |
                              (std::bit_cast<std::uint32_t>(b) & ~mask));
}

/// log(x) = n log(2) + log(m), where m lies between the roots of 1/2 and 2.
inline float log(float x) {
  const bool is_tiny = x < 0x1p-126F;
  const float normal = chosen(is_tiny, x * 0x1p23F, x);
  const auto bits = std::bit_cast<std::int32_t>(normal);
  constexpr std::int32_t root_of_half = 0x3f3504f3;
  const std::int32_t exponent = (bits - root_of_half) >> 23;
  const float m = std::bit_cast<float>(bits - exponent * 0x800000);
  const float shift = is_tiny ? 23.0F : 0.0F, n = static_cast<float>(exponent) - shift;
  const float r = m - 1.0F, z = r * r;
  const float q = polynomial(r, 3.3333331174e-1F, -2.4999993993e-1F, 2.0000714765e-1F,
                             -1.6668057665e-1F, 1.4249322787e-1F, -1.2420140846e-1F,
                             1.1676998740e-1F, -1.1514610310e-1F, 7.0376836292e-2F);
  const float low = multiply_add(-0.5F, z, multiply_add(n, -2.12194440e-4F, r * z * q));
  const float result = multiply_add(n, 0.693359375F, r + low);
  const float finite = chosen(x > FLT_MAX, x, result);
  return chosen(x >= 0.0F, chosen(x == 0.0F, -INFINITY, finite), NAN);
}

inline float atan(float x) {
  const float size = x < 0 ? -x : x;
  const bool is_large = size > 2.414213562F, is_middle = size > 0.4142135624F;
  const float below = size - 1.0F, above = size + 1.0F;
  const float numerator = is_large ? -1.0F : is_middle ? below : size;
  const float denominator = is_large ? size : is_middle ? above : 1.0F;
  const float base = is_large ? 1.5707963268F : is_middle ? 0.7853981634F : 0.0F;
  // What the base is less than the angle that it stands for.
  const float low = is_large ? -4.37113883e-8F : is_middle ? -2.18556941e-8F : 0.0F;
  const float r = numerator / denominator, z = r * r;
  const float q =
      polynomial(z, -3.33329491539e-1F, 1.99777106478e-1F, -1.38776856032e-1F, 8.05374449538e-2F);
  const float result = base + (multiply_add(r * z, q, low) + r);
  constexpr std::uint32_t sign = 0x80000000U;
  const float turned = std::bit_cast<float>(std::bit_cast<std::uint32_t>(result) |
                                            (std::bit_cast<std::uint32_t>(x) & sign));
  return chosen(x != x, x, turned);
}

/// For each exponent of a float, 2 / pi times the unit in its last place, without multiples of 4: as three numbers of so few
/// digits that products of the first two with the mantissa are exact.
struct QuarterTurns {
  double high[256] = {}, middle[256] = {}, low[256] = {};

  constexpr QuarterTurns() {
    for (int exponent = 0; exponent < 255; ++exponent) {
      const int point = exponent - 150;
      high[exponent] = static_cast<double>(digits(point - 1, point + 22)) * 0x1p-22;
      middle[exponent] = static_cast<double>(digits(point + 23, point + 46)) * 0x1p-46;
      low[exponent] = static_cast<double>(digits(point + 47, point + 98)) * 0x1p-98;
    }
  }

  /// Binary digits of 2 / pi behind the point; the first one is digit 1.
  static constexpr std::uint64_t digits(int first, int last) {
    constexpr std::uint32_t words[] = {0xa2f9836eU, 0x4e441529U, 0xfc2757d1U, 0xf534ddc0U,
                                       0xdb629599U, 0x3c439041U, 0xfe5163abU, 0xdebbc561U};
    std::uint64_t result = 0;
    for (int digit = first; digit <= last; ++digit) {
      const bool is_set =
          digit >= 1 && (words[(digit - 1) / 32] >> (31 - (digit - 1) % 32) & 1U) != 0;
      result = result << 1U | (is_set ? 1U : 0U);
    }
    return result;
  }
};
inline constexpr QuarterTurns quarter_turns;

/// An angle without its sign as a number of quarter turns and a rest of at most pi / 4, exact enough for all floats.
struct TurnedAngle {
  float rest;
  std::uint32_t quarters;
  bool is_finite;
};

inline TurnedAngle turned_angle(float x) {
  constexpr double rounder =
      0x1.8p52;  // adding it rounds to an integer, whose last digits are those of the sum
  const auto bits = std::bit_cast<std::uint32_t>(x);
  // Compilers make vectors of reads from a table where the index is as wide as what is read.
  const std::int64_t exponent = bits >> 23U & 255U;
  const auto m = static_cast<double>(static_cast<std::int32_t>((bits & 0x7fffffU) | 0x800000U));
  const double turns = m * quarter_turns.high[exponent], first = turns + rounder;
  const double part = (turns - (first - rounder)) + m * quarter_turns.middle[exponent];
  const double second = part + rounder;
  const double rest = (part - (second - rounder)) + m * quarter_turns.low[exponent];
  const auto far = static_cast<float>(rest * 0x1.921fb54442d18p0);
  const auto nearest = static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(first) +
                                                  std::bit_cast<std::uint64_t>(second));
  // The rest of a small angle is the angle itself.
  const bool is_small = exponent < 127 - 12;
  return {chosen(is_small, std::bit_cast<float>(bits & 0x7fffffffU), far), is_small ? 0U : nearest,
          exponent != 255};
}

/// sin(x + quarters * pi / 2).
template <std::uint32_t quarters>
inline float sin_of_turned(float x) {
  const TurnedAngle angle = turned_angle(x);
  const float r = angle.rest, z = r * r;
  const std::uint32_t quarter = angle.quarters + quarters;
  const float sine =
      multiply_add(r * z, polynomial(z, -1.6666654611e-1F, 8.3321608736e-3F, -1.9515295891e-4F), r);
  const float cosine = multiply_add(
      z * z, polynomial(z, 4.166664568298827e-2F, -1.388731625493765e-3F, 2.443315711809948e-5F),
      multiply_add(-0.5F, z, 1.0F));
  const auto value = std::bit_cast<std::uint32_t>(chosen((quarter & 1U) != 0, cosine, sine));
  // The sine of a negative angle is that of the positive one, negated; the cosine is the same.
  const std::uint32_t sign =
      (quarter & 2U) << 30U ^ (quarters == 0 ? std::bit_cast<std::uint32_t>(x) & 0x80000000U : 0U);
  return chosen(angle.is_finite, std::bit_cast<float>(value ^ sign), NAN);
}

inline float sin(float x) { return sin_of_turned<0>(x); }
inline float cos(float x) { return sin_of_turned<1>(x); }

inline float tan(float x) {
  const TurnedAngle angle = turned_angle(x);
  const float r = angle.rest, z = r * r;
  const float q = polynomial(z, 3.33331568548e-1F, 1.33387994085e-1F, 5.34112807005e-2F,
                             2.44301354525e-2F, 3.11992232697e-3F, 9.38540185543e-3F);
  const float near = multiply_add(r * z, q, r);
  const float value = chosen((angle.quarters & 1U) != 0, -1.0F / near, near);
  const std::uint32_t sign = std::bit_cast<std::uint32_t>(x) & 0x80000000U;
  return chosen(angle.is_finite, std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ sign),
                NAN);
}

/// asin(x) for 0 <= x <= 1/2, and for larger ones asin(sqrt((1 - x) / 2)), which is (pi / 2 - asin(x)) / 2.
inline float asin_of_near(float size) {
  const bool is_large = size > 0.5F;
  const float z = chosen(is_large, 0.5F * (1.0F - size), size * size);
  const float base = chosen(is_large, std::sqrt(z), size);
  const float q = polynomial(z, 1.6666752422e-1F, 7.4953002686e-2F, 4.5470025998e-2F,
                             2.4181311049e-2F, 4.2163199048e-2F);
  return multiply_add(base * z, q, base);
}

inline constexpr float half_pi = 1.57079637F, half_pi_low = -4.37113883e-8F;

inline float asin(float x) {
  const float size = std::abs(x), near = asin_of_near(size);
  const float far = half_pi - multiply_add(2.0F, near, -half_pi_low);
  return std::copysign(chosen(size > 0.5F, far, near), x);
}

inline float acos(float x) {
  const float size = std::abs(x), near = asin_of_near(size);
  const float below = half_pi - (std::copysign(near, x) - half_pi_low);
  const float far = 2.0F * near, turned = 2.0F * half_pi - (far - 2.0F * half_pi_low);
  return chosen(size > 0.5F, chosen(x < 0.0F, turned, far), below);
}

inline float cosh(float x) {
  const float half = exp_times_power<-1>(std::abs(x));
  return half + 0.25F / half;
}

inline float sinh(float x) {
  const float size = std::abs(x), z = x * x;
  const float half = exp_times_power<-1>(size);
  const float far = half - 0.25F / half;
  const float near = multiply_add(
      size * z, polynomial(z, 1.66667160211e-1F, 8.33028376239e-3F, 2.03721912945e-4F), size);
  return std::copysign(chosen(size < 1.0F, near, far), x);
}

/// log(1 + x) for x >= 0: what 1 + x loses by rounding counts.
inline float log_of_next(float x) {
  const float above = 1.0F + x;
  const float lost = chosen(above < 0x1p24F, (x - (above - 1.0F)) / above, 0.0F);
  return fast::log(above) + lost;
}

inline float asinh(float x) {
  const float size = std::abs(x), z = x * x;
  const float near = multiply_add(
      size * z,
      polynomial(z, -1.6666288134e-1F, 7.4847586088e-2F, -4.2699340972e-2F, 2.0122003309e-2F),
      size);
  const float inside = log_of_next(size + z / (1.0F + std::sqrt(z + 1.0F)));
  const float far = fast::log(size) + 0.693147182F;
  return std::copysign(chosen(size < 0.5F, near, chosen(size > 1e9F, far, inside)), x);
}

inline float acosh(float x) {
  const float z = x - 1.0F;
  const float inside = log_of_next(z + std::sqrt(multiply_add(z, z, 2.0F * z)));
  return chosen(x >= 1.0F, chosen(x > 1e9F, fast::log(x) + 0.693147182F, inside), NAN);
}

inline float atanh(float x) {
  const float size = std::abs(x), z = x * x;
  const float near =
      multiply_add(size * z,
                   polynomial(z, 3.33337300303e-1F, 1.99782164500e-1F, 1.46691431730e-1F,
                              8.24370301058e-2F, 1.81740078349e-1F),
                   size);
  const float far = 0.5F * log_of_next(2.0F * size / (1.0F - size));
  return std::copysign(chosen(size < 0.5F, near, far), x);
}
#endif
#endif

}  // namespace fast
}  // namespace
