#pragma once
// Elements of the 16-bit floating-point types in memory. They are computed with in f32, and rounded when they are stored.
// All is constexpr, as in half_precision.h. Devices convert by an instruction where they run it.

#include <cstdint>

#if __has_include("half_precision.h")
#include "half_precision.h"
#else
#include "base/half_precision.h"
#endif

#ifdef __CUDA_ARCH__
#include "ptx.cuh"
#define ON_DEVICE(from_sm, conversion) \
  if (__CUDA_ARCH__ >= (from_sm) && !__builtin_is_constant_evaluated()) return conversion
#else
#define ON_DEVICE(from_sm, conversion)
#endif

// GCC makes vectors of loops that move numbers, but not of those that move structures.
#ifdef __CUDACC__
#define HALF_MOVES(Half)
#else
#define HALF_MOVES(Half)                                                         \
  [[gnu::always_inline]] constexpr Half(const Half& other) : bits(other.bits) {} \
  [[gnu::always_inline]] constexpr Half& operator=(const Half& other) {          \
    bits = other.bits;                                                           \
    return *this;                                                                \
  }
#endif

namespace {

struct F16 {
  std::uint16_t bits;
  F16() = default;
  HALF_MOVES(F16)
  [[gnu::always_inline]] constexpr explicit F16(float value) : bits(bits_of(value)) {}
  [[gnu::always_inline]] constexpr operator float() const {
    ON_DEVICE(0, ptx::from_f16(bits));
    return lemma::half_precision::f16_to_f32(bits);
  }

 private:
  [[gnu::always_inline]] static constexpr std::uint16_t bits_of(float value) {
    ON_DEVICE(0, ptx::to_f16(value));
    return lemma::half_precision::f32_to_f16(value);
  }
};

struct BF16 {
  std::uint16_t bits;
  BF16() = default;
  HALF_MOVES(BF16)
  [[gnu::always_inline]] constexpr explicit BF16(float value) : bits(bits_of(value)) {}
  [[gnu::always_inline]] constexpr operator float() const {
    return lemma::half_precision::bf16_to_f32(bits);
  }

 private:
  [[gnu::always_inline]] static constexpr std::uint16_t bits_of(float value) {
    ON_DEVICE(800, ptx::to_bf16(value));
    return lemma::half_precision::f32_to_bf16(value);
  }
};

#undef ON_DEVICE
#undef HALF_MOVES

}  // namespace
