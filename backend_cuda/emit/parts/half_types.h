#pragma once
// Elements of the 16-bit floating-point types in memory. They are computed with in f32, and rounded when they are stored.

#include <cstdint>

#if __has_include("half_precision.h")
#include "half_precision.h"
#include "vectors.h"
#else
#include "backend_cuda/emit/parts/vectors.h"
#include "ir/half_precision.h"
#endif

namespace {

struct F16 {
  std::uint16_t bits;
  F16() = default;
  [[gnu::always_inline]] explicit F16(float value)
      : bits(lemma::half_precision::f32_to_f16(value)) {}
  [[gnu::always_inline]] operator float() const { return lemma::half_precision::f16_to_f32(bits); }
};

struct BF16 {
  std::uint16_t bits;
  BF16() = default;
  [[gnu::always_inline]] explicit BF16(float value)
      : bits(lemma::half_precision::f32_to_bf16(value)) {}
  [[gnu::always_inline]] operator float() const { return lemma::half_precision::bf16_to_f32(bits); }
};

template <std::int64_t lanes, std::int64_t step, typename V, typename Half>
[[gnu::always_inline]] inline void load_halves(V& to, const Half* from) {
  float values[lanes];
  for (std::int64_t lane = 0; lane < lanes; ++lane) values[lane] = from[lane * step];
  to = *reinterpret_cast<const typename VectorType<float, lanes>::loose*>(values);
}
/// As for other elements in vectors.h.
template <std::int64_t lanes, std::int64_t step, typename V>
[[gnu::always_inline]] inline void load(V& to, const F16* from) {
  load_halves<lanes, step>(to, from);
}
template <std::int64_t lanes, std::int64_t step, typename V>
[[gnu::always_inline]] inline void load(V& to, const BF16* from) {
  load_halves<lanes, step>(to, from);
}

}  // namespace
