#pragma once
// Functions of single f32 elements without branches or calls, so that loops over elements become vectors. Their results
// are within a few units in the last place of the exact ones; those of the standard library take their place with
// EXACT_FUNCTIONS.
//
// The polynomials are interpolations at Chebyshev nodes.

#include <bit>
#include <cmath>
#include <cstdint>

#if __has_include("scalar_operations.h")
#include "scalar_operations.h"
#else
#include "lowering/scalar_operations.h"
#endif

namespace fast {

#ifdef EXACT_FUNCTIONS
using lemma::lowering::functions::erf;
using lemma::lowering::functions::exp;
using lemma::lowering::functions::tanh;
#else

/// 2 to the power of an integer between -126 and 127.
inline float power_of_two(float exponent) {
  return std::bit_cast<float>((static_cast<std::int32_t>(exponent) + 127) << 23);
}

/// exp(x) = 2^n exp(r), where |r| <= log(2) / 2.
inline float exp(float x) {
  // Beyond these the result is infinite or 0; NaN comes last.
  const float low = x > -104.0F ? x : -104.0F;
  const float inside = low > 89.0F ? 89.0F : low;
  constexpr float rounder = 0x1.8p23F;  // adding it rounds to an integer
  const float n = (inside * 0x1.715476p0F + rounder) - rounder;
  const float r = (inside - n * 0x1.62e4p-1F) - n * 0x1.7f7d1cp-20F;
  const float q = 0.49999998F +
                  r * (0.16666577F + r * (0.041666457F + r * (0.0083631812F + r * 0.0013933696F)));
  const float power = 1.0F + (r + r * r * q);
  // In two steps: the power of two alone may be too large or too small.
  const float half = (n * 0.5F + rounder) - rounder;
  const float result = power * power_of_two(half) * power_of_two(n - half);
  return x != x ? x : result;
}

inline float tanh(float x) {
  const float size = x < 0 ? -x : x;
  const float z = x * x;
  const float p =
      -0.33333333F +
      z * (0.13333297F +
           z * (-0.053957776F + z * (0.021756928F + z * (-0.0083051027F + z * 0.0022493183F))));
  const float near = x * (1.0F + z * p);
  const float far = 1.0F - 2.0F / (fast::exp(2.0F * size) + 1.0F);
  return size < 0.625F ? near : x < 0 ? -far : far;
}

inline float erf(float x) {
  const float size = x < 0 ? -x : x;
  const float z = x * x;
  const float near =
      x *
      (1.128379167F +
       z * (-0.376126385F +
            z * (0.112837826F + z * (-0.0268654383F +
                                     z * (0.00522105341F +
                                          z * (-0.000848439655F +
                                               z * (0.000112682539F + z * -0.00000967359085F)))))));
  // erfc(x) = exp(-x^2) g(1 / (1 + x / 2)); beyond 4 it is less than half a unit in the last place of 1.
  const float bounded = size > 4.0F ? 4.0F : size;
  const float t = 1.0F / (1.0F + 0.5F * bounded);
  const float g =
      -0.00010941984F +
      t * (0.28414649F +
           t * (0.26537592F +
                t * (0.32386876F +
                     t * (-0.041207964F +
                          t * (0.46003701F +
                               t * (-0.36539619F + t * (0.057921465F + t * 0.015468232F)))))));
  const float far = 1.0F - fast::exp(-bounded * bounded) * g;
  const float result = size < 1.0F ? near : x < 0 ? -far : far;
  return x != x ? x : result;
}
#endif

}  // namespace fast
