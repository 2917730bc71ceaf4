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

namespace fast {

/// a * b + c, rounded once where the processor has an instruction for it: said here and not left to the compiler, which
/// would take it in some loops and not in others. Without it, and with EXACT_FUNCTIONS, rounded twice.
template <typename T>
inline T multiply_add(T a, T b, T c) {
#if defined(__FMA__) && !defined(EXACT_FUNCTIONS)
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

#ifdef EXACT_FUNCTIONS
using lemma::lowering::functions::erf;
using lemma::lowering::functions::exp;
using lemma::lowering::functions::tanh;
#else

/// 2 to the power of an integer between -126 and 127.
inline float power_of_two(float exponent) {
  return std::bit_cast<float>((static_cast<std::int32_t>(exponent) + 127) << 23);
}

/// c[0] + c[1] x + c[2] x^2 + ...
template <typename... More>
inline float polynomial(float x, float first, More... more) {
  if constexpr (sizeof...(more) == 0)
    return first;
  else
    return multiply_add(x, polynomial(x, more...), first);
}

/// exp(x) = 2^n exp(r), where |r| <= log(2) / 2.
inline float exp(float x) {
  // Beyond these the result is infinite or 0; NaN comes last.
  const float low = x > -104.0F ? x : -104.0F;
  const float inside = low > 89.0F ? 89.0F : low;
  constexpr float rounder = 0x1.8p23F;  // adding it rounds to an integer
  const float n = multiply_add(inside, 0x1.715476p0F, rounder) - rounder;
  const float r = multiply_add(n, -0x1.7f7d1cp-20F, multiply_add(n, -0x1.62e4p-1F, inside));
  const float q =
      polynomial(r, 0.49999998F, 0.16666577F, 0.041666457F, 0.0083631812F, 0.0013933696F);
  const float power = 1.0F + multiply_add(r * r, q, r);
  // In two steps: the power of two alone may be too large or too small.
  const float half = multiply_add(n, 0.5F, rounder) - rounder;
  const float result = power * power_of_two(half) * power_of_two(n - half);
  return x != x ? x : result;
}

inline float tanh(float x) {
  const float size = x < 0 ? -x : x;
  const float z = x * x;
  const float near = x * polynomial(z, 1.0F, -0.33333333F, 0.13333297F, -0.053957776F, 0.021756928F,
                                    -0.0083051027F, 0.0022493183F);
  const float far = 1.0F - 2.0F / (fast::exp(2.0F * size) + 1.0F);
  return size < 0.625F ? near : x < 0 ? -far : far;
}

inline float erf(float x) {
  const float size = x < 0 ? -x : x;
  const float z = x * x;
  const float near =
      x * polynomial(z, 1.128379167F, -0.376126385F, 0.112837826F, -0.0268654383F, 0.00522105341F,
                     -0.000848439655F, 0.000112682539F, -0.00000967359085F);
  // erfc(x) = exp(-x^2) g(1 / (1 + x / 2)); beyond 4 it is less than half a unit in the last place of 1.
  const float bounded = size > 4.0F ? 4.0F : size;
  const float t = 1.0F / multiply_add(0.5F, bounded, 1.0F);
  const float g = polynomial(t, -0.00010941984F, 0.28414649F, 0.26537592F, 0.32386876F,
                             -0.041207964F, 0.46003701F, -0.36539619F, 0.057921465F, 0.015468232F);
  const float far = multiply_add(-fast::exp(-bounded * bounded), g, 1.0F);
  const float result = size < 1.0F ? near : x < 0 ? -far : far;
  return x != x ? x : result;
}
#endif

}  // namespace fast
