#pragma once
// Elements of the 16-bit floating-point types in memory. They are computed with in f32, and rounded when they are stored.
// All is constexpr, as in half_precision.h.

#include <cstdint>

#if __has_include("half_precision.h")
#include "half_precision.h"
#else
#include "base/half_precision.h"
#endif

namespace {

struct F16 {
  std::uint16_t bits;
  F16() = default;
  [[gnu::always_inline]] constexpr explicit F16(float value)
      : bits(lemma::half_precision::f32_to_f16(value)) {}
  [[gnu::always_inline]] constexpr operator float() const {
    return lemma::half_precision::f16_to_f32(bits);
  }
};

struct BF16 {
  std::uint16_t bits;
  BF16() = default;
  [[gnu::always_inline]] constexpr explicit BF16(float value)
      : bits(lemma::half_precision::f32_to_bf16(value)) {}
  [[gnu::always_inline]] constexpr operator float() const {
    return lemma::half_precision::bf16_to_f32(bits);
  }
};

}  // namespace
