#pragma once
// Vectors of elements side by side, and how many elements a block has where this is compiled: as many as there are
// registers for.

#include <cstdint>
#include <type_traits>
#include <utility>
#if defined(__FMA__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "fast_functions.h"
#include "half_types.h"

namespace {

// Kernels in which a guard decides whether an element is loaded. GCC 12 with AVX2 or AVX-512 makes masked loads of such
// loops that leave elements out (a Concat of two tensors of 2x6x2 is enough); without conversion of branches it does not.
#if defined(__GNUC__) && !defined(__clang__)
#define GUARDED_LOADS __attribute__((optimize("no-tree-loop-if-convert")))
#else
#define GUARDED_LOADS
#endif

#if defined(__AVX512F__)
constexpr std::int64_t register_bytes = 64, registers = 32;
#elif defined(__AVX__)
constexpr std::int64_t register_bytes = 32, registers = 16;
#elif defined(__aarch64__)
constexpr std::int64_t register_bytes = 16, registers = 32;
#else
constexpr std::int64_t register_bytes = 16, registers = 16;
#endif

constexpr std::int64_t at_most(std::int64_t value, std::int64_t limit) {
  return value < limit ? value : limit;
}

[[maybe_unused]] constexpr std::int64_t at_least(std::int64_t value, std::int64_t limit) {
  return value < limit ? limit : value;
}

/// The greatest power of two that is no more than both.
constexpr std::int64_t fitting(std::int64_t extent, std::int64_t most) {
  std::int64_t size = 1;
  while (2 * size <= extent && 2 * size <= most) size *= 2;
  return size;
}

template <typename T>
constexpr std::int64_t register_elements = register_bytes / static_cast<std::int64_t>(sizeof(T));

/// Elements of a block along an axis with this extent: two registers, or, where the block is a single row, as many as
/// keep its sums in registers.
template <typename T>
constexpr std::int64_t lanes_of_block(std::int64_t extent) {
  return fitting(extent, 2 * register_elements<T>);
}
template <typename T>
constexpr std::int64_t lanes_of_row(std::int64_t extent) {
  return fitting(extent, registers / 4 * register_elements<T>);
}
/// Elements of a block, of as few blocks of about equal size as have `most` elements at most.
constexpr std::int64_t even_parts(std::int64_t extent, std::int64_t most) {
  const std::int64_t blocks = (extent + most - 1) / most;
  return (extent + blocks - 1) / blocks;
}

/// Vectors of sums that a block keeps in so many registers: half of them, or three quarters where there are few, because a
/// sum waits for its last addition.
constexpr std::int64_t sums_of_block(std::int64_t count) {
  return count > 16 ? count / 2 : count * 3 / 4;
}
/// The same where lanes are channels: sums leave registers for a row of lanes, an element, and what the compiler needs.
/// GCC 12 keeps sums in memory from 12 rows of two vectors on.
constexpr std::int64_t sums_of_panel(std::int64_t count) { return count * 11 / 16; }

/// Rows of a block with so many lanes.
template <typename T>
constexpr std::int64_t rows_of_block(std::int64_t extent, std::int64_t lanes) {
  const std::int64_t vectors = (lanes + register_elements<T> - 1) / register_elements<T>;
  return even_parts(extent, sums_of_block(registers) / vectors);
}

/// Rows of a block whose lanes are channels.
template <typename T>
constexpr std::int64_t rows_of_panel(std::int64_t extent, std::int64_t lanes) {
  const std::int64_t vectors = (lanes + register_elements<T> - 1) / register_elements<T>;
  return even_parts(extent, sums_of_panel(registers) / vectors);
}

/// Elements that one vector has, of a block with so many side by side.
template <typename T>
constexpr std::int64_t vector_lanes(std::int64_t lanes) {
  return at_most(lanes, register_elements<T>);
}

template <typename T, std::int64_t lanes>
struct VectorType {
  typedef T type __attribute__((vector_size(lanes * sizeof(T))));
  // The same anywhere in memory.
  typedef T loose __attribute__((vector_size(lanes * sizeof(T)), aligned(alignof(T)), may_alias));
};
template <typename T, std::int64_t lanes>
using Vector = typename VectorType<T, lanes>::type;

#if defined(__clang__) || __GNUC__ >= 12
/// Every second one of the elements of two vectors, of which the second begins with the last element of the first.
template <typename V, int... lane>
[[gnu::always_inline]] inline void every_second(V& to, const V& a, const V& b,
                                                std::integer_sequence<int, lane...>) {
  constexpr int count = sizeof...(lane);
  to = __builtin_shufflevector(a, b, (lane < count / 2 ? 2 * lane : 2 * lane + 1)...);
}
#endif

/// Asks for so many elements side by side, to be stored or read later.
template <std::int64_t count, bool stores, typename T>
[[gnu::always_inline]] inline void prefetch(const T* first) {
  constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t i = 0; i < count; i += line) __builtin_prefetch(first + i, stores);
  __builtin_prefetch(first + count - 1, stores);
}

/// Copies elements that lie side by side, often fewer than a few vectors have.
template <typename T>
[[maybe_unused, gnu::always_inline]] inline void copy_row(T* __restrict to,
                                                          const T* __restrict from,
                                                          std::int64_t count) {
  std::int64_t i = 0;
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__FMA__)
  constexpr std::int64_t lanes = 64 / static_cast<std::int64_t>(sizeof(T));
  for (; i + lanes <= count; i += lanes) _mm512_storeu_si512(to + i, _mm512_loadu_si512(from + i));
  if (i < count) {
    const std::uint64_t rest = (std::uint64_t{1} << (count - i)) - 1;
    if constexpr (sizeof(T) == 1)
      _mm512_mask_storeu_epi8(to + i, rest, _mm512_maskz_loadu_epi8(rest, from + i));
    else if constexpr (sizeof(T) == 2)
      _mm512_mask_storeu_epi16(to + i, static_cast<__mmask32>(rest),
                               _mm512_maskz_loadu_epi16(static_cast<__mmask32>(rest), from + i));
    else if constexpr (sizeof(T) == 4)
      _mm512_mask_storeu_epi32(to + i, static_cast<__mmask16>(rest),
                               _mm512_maskz_loadu_epi32(static_cast<__mmask16>(rest), from + i));
    else
      _mm512_mask_storeu_epi64(to + i, static_cast<__mmask8>(rest),
                               _mm512_maskz_loadu_epi64(static_cast<__mmask8>(rest), from + i));
  }
#else
  for (; i < count; ++i) to[i] = from[i];
#endif
}

/// Elements first, first + 1, ... of a tensor, of which a task keeps only those.
template <typename T>
struct Window {
  T* elements;
  std::int64_t first;
  [[gnu::always_inline]] T& operator[](std::int64_t index) const { return elements[index - first]; }
};

/// The elements from `from` on, `step` apart. No others are read but those between them.
template <std::int64_t lanes, std::int64_t step, typename V, typename T>
[[gnu::always_inline]] inline void load(V& to, const T* from) {
  using Loose = typename VectorType<T, lanes>::loose;
  if constexpr (step == 1) {
    to = *reinterpret_cast<const Loose*>(from);
#if defined(__clang__) || __GNUC__ >= 12
  } else if constexpr (step == 2 && lanes > 1) {
    const V a = *reinterpret_cast<const Loose*>(from);
    const V b = *reinterpret_cast<const Loose*>(from + lanes - 1);
    every_second(to, a, b, std::make_integer_sequence<int, lanes>());
#endif
  } else {
    for (std::int64_t lane = 0; lane < lanes; ++lane) to[lane] = from[lane * step];
  }
}

#if defined(__AVX512F__) && defined(__FMA__)
// Of vectors of 16 elements. GCC 12 warns of what it leaves undefined in intrinsics without a mask.
[[maybe_unused]] constexpr __mmask16 all_lanes = 0xFFFF;
#endif

// Conversions of many elements of f16 at once, by instructions where there are such. These keep some digits of NaN, which the
// functions of half_precision.h do not: elements among which there is one are stored by those.

#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512BW__) && defined(__FMA__)
#define CONVERTS_HALVES
constexpr std::int64_t halves_at_once = 16;
using HalvesInF32 = __m512;
[[gnu::always_inline]] inline HalvesInF32 f32_at(const float* from) {
  return _mm512_loadu_ps(from);
}
[[gnu::always_inline]] inline void put_f32(float* to, HalvesInF32 values) {
  _mm512_storeu_ps(to, values);
}
[[gnu::always_inline]] inline __m256i to_halves(HalvesInF32 values) {
  return _mm512_maskz_cvtps_ph(all_lanes, values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
[[gnu::always_inline]] inline HalvesInF32 from_halves(__m256i halves) {
  return _mm512_maskz_cvtph_ps(all_lanes, halves);
}
[[gnu::always_inline]] inline __m256i halves_at(const F16* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
[[gnu::always_inline]] inline void put_halves(F16* to, __m256i halves) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), halves);
}
using HalvesWithNan = __mmask16;
[[gnu::always_inline]] inline HalvesWithNan nan_among(HalvesInF32 values) {
  return _mm512_cmp_ps_mask(values, values, _CMP_UNORD_Q);
}
[[gnu::always_inline]] inline HalvesWithNan either(HalvesWithNan a, HalvesWithNan b) {
  return static_cast<HalvesWithNan>(a | b);
}
[[gnu::always_inline]] inline bool are_there(HalvesWithNan lanes) { return lanes != 0; }
#elif defined(__F16C__) && defined(__AVX__) && defined(__FMA__)
#define CONVERTS_HALVES
constexpr std::int64_t halves_at_once = 8;
using HalvesInF32 = __m256;
[[gnu::always_inline]] inline HalvesInF32 f32_at(const float* from) {
  return _mm256_loadu_ps(from);
}
[[gnu::always_inline]] inline void put_f32(float* to, HalvesInF32 values) {
  _mm256_storeu_ps(to, values);
}
[[gnu::always_inline]] inline __m128i to_halves(HalvesInF32 values) {
  return _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
[[gnu::always_inline]] inline HalvesInF32 from_halves(__m128i halves) {
  return _mm256_cvtph_ps(halves);
}
[[gnu::always_inline]] inline __m128i halves_at(const F16* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
[[gnu::always_inline]] inline void put_halves(F16* to, __m128i halves) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), halves);
}
using HalvesWithNan = __m256;
[[gnu::always_inline]] inline HalvesWithNan nan_among(HalvesInF32 values) {
  return _mm256_cmp_ps(values, values, _CMP_UNORD_Q);
}
[[gnu::always_inline]] inline HalvesWithNan either(HalvesWithNan a, HalvesWithNan b) {
  return _mm256_or_ps(a, b);
}
[[gnu::always_inline]] inline bool are_there(HalvesWithNan lanes) {
  return _mm256_movemask_ps(lanes) != 0;
}
#endif

template <typename To, typename From>
[[maybe_unused, gnu::noinline]] void convert_one_by_one(To* __restrict to,
                                                        const From* __restrict from,
                                                        std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    if constexpr (std::is_same_v<To, From>)
      to[i] = static_cast<float>(static_cast<F16>(from[i]));  // rounded
    else
      to[i] = static_cast<To>(from[i]);
}

/// So many elements of f16 become f32. NaN becomes one that is quiet.
template <std::int64_t count>
[[maybe_unused, gnu::always_inline]] inline void widen(float* __restrict to,
                                                       const F16* __restrict from) {
  std::int64_t i = 0;
#if defined(CONVERTS_HALVES)
  for (; i + halves_at_once <= count; i += halves_at_once)
    put_f32(to + i, from_halves(halves_at(from + i)));
#endif
  if (i < count) convert_one_by_one(to + i, from + i, count - i);
}

/// So many elements of f32 become f16.
template <std::int64_t count>
[[maybe_unused, gnu::always_inline]] inline void narrow(F16* __restrict to,
                                                        const float* __restrict from) {
  std::int64_t i = 0;
#if defined(CONVERTS_HALVES)
  HalvesWithNan nan = {};
  for (; i + halves_at_once <= count; i += halves_at_once) {
    const HalvesInF32 values = f32_at(from + i);
    put_halves(to + i, to_halves(values));
    nan = either(nan, nan_among(values));
  }
  if (__builtin_expect(are_there(nan), 0)) i = 0;
#endif
  if (i < count) convert_one_by_one(to + i, from + i, count - i);
}

/// So many elements of f32 are rounded to values of f16. NaN stays NaN.
template <std::int64_t count>
[[maybe_unused, gnu::always_inline]] inline void round_to_f16(float* __restrict to,
                                                              const float* __restrict from) {
  std::int64_t i = 0;
#if defined(CONVERTS_HALVES)
  for (; i + halves_at_once <= count; i += halves_at_once)
    put_f32(to + i, from_halves(to_halves(f32_at(from + i))));
#endif
  if (i < count) convert_one_by_one(to + i, from + i, count - i);
}

/// The same as fast::exp of so many elements, where processors have an instruction that multiplies by a power of two.
template <std::int64_t count>
[[maybe_unused, gnu::always_inline]] inline void exp_of_lanes(float* __restrict to,
                                                              const float* __restrict from) {
  std::int64_t i = 0;
#if defined(__AVX512F__) && defined(__FMA__) && !defined(EXACT_FUNCTIONS)
  const auto all = [](float value) { return _mm512_set1_ps(value); };
  for (; i + 16 <= count; i += 16) {
    // Of NaN, both take the second operand.
    const __m512 x =
        _mm512_maskz_max_ps(all_lanes, all(-104.0F),
                            _mm512_maskz_min_ps(all_lanes, all(90.0F), _mm512_loadu_ps(from + i)));
    const __m512 n =
        _mm512_sub_ps(_mm512_fmadd_ps(x, all(0x1.715476p0F), all(0x1.8p23F)), all(0x1.8p23F));
    const __m512 r =
        _mm512_fmadd_ps(n, all(-0x1.7f7d1cp-20F), _mm512_fmadd_ps(n, all(-0x1.62e4p-1F), x));
    __m512 q = _mm512_fmadd_ps(r, all(0.0013933696F), all(0.0083631812F));
    q = _mm512_fmadd_ps(r, q, all(0.041666457F));
    q = _mm512_fmadd_ps(r, q, all(0.16666577F));
    q = _mm512_fmadd_ps(r, q, all(0.49999998F));
    const __m512 power = _mm512_add_ps(all(1.0F), _mm512_fmadd_ps(_mm512_mul_ps(r, r), q, r));
    _mm512_storeu_ps(to + i, _mm512_maskz_scalef_ps(all_lanes, power, n));
  }
#endif
  for (; i < count; ++i) to[i] = fast::exp(from[i]);
}

/// Elements of 16 bits become f32.
template <std::int64_t lanes, std::int64_t step, typename V, typename Half>
[[gnu::always_inline]] inline void load_halves(V& to, const Half* from) {
  float values[lanes];
  for (std::int64_t lane = 0; lane < lanes; ++lane) values[lane] = from[lane * step];
  to = *reinterpret_cast<const typename VectorType<float, lanes>::loose*>(values);
}
template <std::int64_t lanes, std::int64_t step, typename V>
[[gnu::always_inline]] inline void load(V& to, const F16* from) {
#if defined(CONVERTS_HALVES)
  if constexpr (step == 1 && lanes == halves_at_once) {
    to = from_halves(halves_at(from));
    return;
  }
#endif
  load_halves<lanes, step>(to, from);
}
template <std::int64_t lanes, std::int64_t step, typename V>
[[gnu::always_inline]] inline void load(V& to, const BF16* from) {
  load_halves<lanes, step>(to, from);
}

/// total += a * b, rounded as fast::multiply_add does it.
template <typename T, std::int64_t lanes>
[[gnu::always_inline]] inline void add_products(Vector<T, lanes>& total, const Vector<T, lanes>& a,
                                                T b) {
#if defined(__FMA__) && !defined(EXACT_FUNCTIONS)
  constexpr std::size_t bytes = lanes * sizeof(T);
  if constexpr (!std::is_floating_point_v<T>) {
    total += a * b;
  } else if constexpr (std::is_same_v<T, float> && bytes == 16) {
    total = _mm_fmadd_ps(a, _mm_set1_ps(b), total);
  } else if constexpr (std::is_same_v<T, float> && bytes == 32) {
    total = _mm256_fmadd_ps(a, _mm256_set1_ps(b), total);
  } else if constexpr (std::is_same_v<T, double> && bytes == 16) {
    total = _mm_fmadd_pd(a, _mm_set1_pd(b), total);
  } else if constexpr (std::is_same_v<T, double> && bytes == 32) {
    total = _mm256_fmadd_pd(a, _mm256_set1_pd(b), total);
#if defined(__AVX512F__)
  } else if constexpr (std::is_same_v<T, float> && bytes == 64) {
    total = _mm512_fmadd_ps(a, _mm512_set1_ps(b), total);
  } else if constexpr (std::is_same_v<T, double> && bytes == 64) {
    total = _mm512_fmadd_pd(a, _mm512_set1_pd(b), total);
#endif
  } else {
    for (std::int64_t lane = 0; lane < lanes; ++lane)
      total[lane] = fast::multiply_add<T>(a[lane], b, total[lane]);
  }
#elif defined(__aarch64__) && !defined(EXACT_FUNCTIONS)
  using V = Vector<T, lanes>;
  if constexpr (!std::is_floating_point_v<T>) {
    total += a * b;
  } else if constexpr (std::is_same_v<T, float> && lanes == 4) {
    total = (V)vfmaq_n_f32((float32x4_t)total, (float32x4_t)a, b);
  } else if constexpr (std::is_same_v<T, double> && lanes == 2) {
    total = (V)vfmaq_n_f64((float64x2_t)total, (float64x2_t)a, b);
  } else {
    for (std::int64_t lane = 0; lane < lanes; ++lane)
      total[lane] = fast::multiply_add<T>(a[lane], b, total[lane]);
  }
#else
  total += a * b;
#endif
}

/// A bit for each of the lanes 0, 1, ... for which first + lane * step is below 0.
template <std::int64_t lanes, std::int64_t step>
[[maybe_unused, gnu::always_inline]] inline std::uint64_t lanes_below(std::int64_t first) {
  static_assert(lanes < 64);
  constexpr std::uint64_t all = (std::uint64_t{1} << lanes) - 1;
  if constexpr (step == 0) {
    return first < 0 ? all : 0;
  } else if constexpr (step > 0) {
    const std::int64_t count = first < 0 ? (step - 1 - first) / step : 0;
    return count < lanes ? all >> (lanes - count) : all;
  } else {
    const std::int64_t others = first < 0 ? 0 : first / -step + 1;
    return others < lanes ? all << others & all : 0;
  }
}

/// The same as add_products in the lanes whose bits are set.
template <typename T, std::int64_t lanes>
[[maybe_unused, gnu::always_inline]] inline void add_products_where(Vector<T, lanes>& total,
                                                                    const Vector<T, lanes>& a, T b,
                                                                    std::uint64_t where) {
#if defined(__AVX512F__) && defined(__FMA__) && !defined(EXACT_FUNCTIONS)
  if constexpr (std::is_same_v<T, float> && lanes == 16) {
    total = _mm512_mask3_fmadd_ps(a, _mm512_set1_ps(b), total, static_cast<__mmask16>(where));
    return;
  } else if constexpr (std::is_same_v<T, double> && lanes == 8) {
    total = _mm512_mask3_fmadd_pd(a, _mm512_set1_pd(b), total, static_cast<__mmask8>(where));
    return;
#if defined(__AVX512VL__)
  } else if constexpr (std::is_same_v<T, float> && lanes == 8) {
    total = _mm256_mask3_fmadd_ps(a, _mm256_set1_ps(b), total, static_cast<__mmask8>(where));
    return;
  } else if constexpr (std::is_same_v<T, double> && lanes == 4) {
    total = _mm256_mask3_fmadd_pd(a, _mm256_set1_pd(b), total, static_cast<__mmask8>(where));
    return;
#endif
  }
#endif
  Vector<T, lanes> next = total;
  add_products<T, lanes>(next, a, b);
  if constexpr (std::is_floating_point_v<T>) {
    using Integer = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    Vector<Integer, lanes> is_there;
    for (std::int64_t lane = 0; lane < lanes; ++lane)
      is_there[lane] = -static_cast<Integer>(where >> lane & 1U);
    total = is_there ? next : total;
  } else {
    for (std::int64_t lane = 0; lane < lanes; ++lane)
      if ((where >> lane & 1U) != 0) total[lane] = next[lane];
  }
}

/// Groups of small integers, of 32 bits each. They are loaded by instructions for vectors, or copied.
template <typename T>
[[maybe_unused]] inline const std::int32_t* groups_at(const T* from) {
  return reinterpret_cast<const std::int32_t*>(from);
}
template <typename T>
[[maybe_unused, gnu::always_inline]] inline std::int32_t group_at(const T* from) {
  std::int32_t group;
  __builtin_memcpy(&group, from, sizeof(group));
  return group;
}

/// total += the sum of the two products of each pair of `a` and the pair `b`, in 32 bits that wrap.
template <std::int64_t lanes>
[[maybe_unused, gnu::always_inline]] inline void add_products_of_pairs(
    Vector<std::int32_t, lanes>& total, const Vector<std::int32_t, lanes>& a, std::int32_t b) {
  [[maybe_unused]] constexpr std::int64_t bytes = lanes * 4;
#if defined(__AVX512VNNI__) && defined(__AVX512F__)
  if constexpr (bytes == 64) {
    total = (Vector<std::int32_t, lanes>)_mm512_dpwssd_epi32((__m512i)total, (__m512i)a,
                                                             _mm512_set1_epi32(b));
    return;
  }
#endif
#if defined(__AVX512BW__)
  if constexpr (bytes == 64) {
    total = (Vector<std::int32_t, lanes>)_mm512_add_epi32(
        (__m512i)total, _mm512_madd_epi16((__m512i)a, _mm512_set1_epi32(b)));
    return;
  }
#endif
#if defined(__AVX2__) && defined(__FMA__)
  if constexpr (bytes == 32) {
    total = (Vector<std::int32_t, lanes>)_mm256_add_epi32(
        (__m256i)total, _mm256_madd_epi16((__m256i)a, _mm256_set1_epi32(b)));
    return;
  }
#endif
  using Bits = Vector<std::uint32_t, lanes>;
  const auto low = static_cast<std::int16_t>(b), high = static_cast<std::int16_t>(b >> 16);
  const Vector<std::int32_t, lanes> lows = (Vector<std::int32_t, lanes>)((Bits)a << 16) >> 16;
  total =
      (Vector<std::int32_t, lanes>)((Bits)total + (Bits)(lows * low) + (Bits)((a >> 16) * high));
}

/// total += the sum of the four products of the bytes of each group of `a` and the group `b`, in 32 bits that wrap. The bytes
/// of one of them have no sign.
template <std::int64_t lanes, bool across_is_unsigned>
[[maybe_unused, gnu::always_inline]] inline void add_products_of_bytes(
    Vector<std::int32_t, lanes>& total, const Vector<std::int32_t, lanes>& a, std::int32_t b) {
  using Lanes = Vector<std::int32_t, lanes>;
  [[maybe_unused]] constexpr std::int64_t bytes = lanes * 4;
#if defined(__AVX512VNNI__) && defined(__AVX512F__)
  if constexpr (bytes == 64) {
    const __m512i same = _mm512_set1_epi32(b);
    total = (Lanes)_mm512_dpbusd_epi32((__m512i)total, across_is_unsigned ? (__m512i)a : same,
                                       across_is_unsigned ? same : (__m512i)a);
    return;
  }
#endif
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
  if constexpr (bytes == 32) {
    const __m256i same = _mm256_set1_epi32(b);
    total = (Lanes)_mm256_dpbusd_epi32((__m256i)total, across_is_unsigned ? (__m256i)a : same,
                                       across_is_unsigned ? same : (__m256i)a);
    return;
  }
#elif defined(__AVXVNNI__)
  if constexpr (bytes == 32) {
    const __m256i same = _mm256_set1_epi32(b);
    total = (Lanes)_mm256_dpbusd_avx_epi32((__m256i)total, across_is_unsigned ? (__m256i)a : same,
                                           across_is_unsigned ? same : (__m256i)a);
    return;
  }
#endif
  // Every second byte in 16 bits: pairs of products are exact there, which those of bytes are not.
  using Bits = Vector<std::uint32_t, lanes>;
  const auto same = (Bits)(Lanes{} + b), across = (Bits)a;
  using Halves = Vector<std::int16_t, 2 * lanes>;
  using UnsignedHalves = Vector<std::uint16_t, 2 * lanes>;
  const auto signed_even = [](const Bits& group) {
    return (Halves)((UnsignedHalves)group << 8) >> 8;
  };
  const auto signed_odd = [](const Bits& group) { return (Halves)group >> 8; };
  const auto unsigned_even = [](const Bits& group) { return (Halves)(group & 0x00FF00FFU); };
  const auto unsigned_odd = [](const Bits& group) { return (Halves)((UnsignedHalves)group >> 8); };
  const Bits &u = across_is_unsigned ? across : same, &s = across_is_unsigned ? same : across;
  const auto add = [&total](const Halves& x, const Halves& y) {
#if defined(__AVX512BW__)
    if constexpr (bytes == 64) {
      total = (Lanes)_mm512_add_epi32((__m512i)total, _mm512_madd_epi16((__m512i)x, (__m512i)y));
      return;
    }
#endif
#if defined(__AVX2__) && defined(__FMA__)
    if constexpr (bytes == 32) {
      total = (Lanes)_mm256_add_epi32((__m256i)total, _mm256_madd_epi16((__m256i)x, (__m256i)y));
      return;
    }
#endif
    const Lanes low = ((Lanes)((Bits)x << 16) >> 16) * ((Lanes)((Bits)y << 16) >> 16);
    total = (Lanes)((Bits)total + (Bits)low + (Bits)(((Lanes)x >> 16) * ((Lanes)y >> 16)));
  };
  add(unsigned_even(u), signed_even(s));
  add(unsigned_odd(u), signed_odd(s));
}

/// The lesser or the greater element of each two; NaN if one of them is.
template <typename V>
[[maybe_unused, gnu::always_inline]] inline void take_minimum(V& total, const V& other) {
  total = ((total < other) | (total != total)) ? total : other;
}
template <typename V>
[[maybe_unused, gnu::always_inline]] inline void take_maximum(V& total, const V& other) {
  total = ((total > other) | (total != total)) ? total : other;
}

#if defined(__clang__) || __GNUC__ >= 12
/// Exchanges the corners beside the diagonal in squares of 2 * distance rows, of which these two are one row of each half.
template <int distance, typename V, int... lane>
[[gnu::always_inline]] inline void exchange(V& a, V& b, std::integer_sequence<int, lane...>) {
  constexpr int count = sizeof...(lane);
  const V first = a;
  a = __builtin_shufflevector(first, b,
                              ((lane & distance) == 0 ? lane : lane - distance + count)...);
  b = __builtin_shufflevector(first, b,
                              ((lane & distance) == 0 ? lane + distance : lane + count)...);
}
template <int distance, typename V>
[[gnu::always_inline]] inline void exchange_corners(V (&square)[16]) {
  for (int row = 0; row < 16; ++row)
    if ((row & distance) == 0)
      exchange<distance>(square[row], square[row + distance],
                         std::make_integer_sequence<int, 16>());
}

/// The same in registers, for elements of any type that are only moved.
template <std::int64_t lanes, typename T>
[[maybe_unused, gnu::always_inline]] inline void turn_square(T* __restrict to,
                                                             const T* __restrict from,
                                                             std::int64_t step) {
  using Loose = typename VectorType<T, 16>::loose;
  Vector<T, 16> square[16];
  for (std::int64_t lane = 0; lane < 16; ++lane)
    square[lane] =
        lane < lanes ? *reinterpret_cast<const Loose*>(from + lane * step) : Vector<T, 16>{};
  exchange_corners<1>(square);
  exchange_corners<2>(square);
  exchange_corners<4>(square);
  exchange_corners<8>(square);
  for (std::int64_t row = 0; row < 16; ++row)
    *reinterpret_cast<Loose*>(to + 16 * row) = square[row];
}

/// The elements of two vectors by turns, from the lower or the upper half of each part of 16 bytes.
template <bool upper, typename V, int... lane>
[[gnu::always_inline]] inline void interleave(V& to, const V& a, const V& b,
                                              std::integer_sequence<int, lane...>) {
  constexpr int count = sizeof...(lane), part = 16 / sizeof(a[0]);
  to = __builtin_shufflevector(a, b,
                               (lane / part * part + lane % part / 2 + (upper ? part / 2 : 0) +
                                (lane % 2 == 0 ? 0 : count))...);
}

/// Registers from the first and the second half by turns: the bits of a position in all of them, register after register, are
/// rotated by one.
template <typename V, int count>
[[gnu::always_inline]] inline void interleave_halves(V (&registers_of_rows)[count]) {
  constexpr auto all =
      std::make_integer_sequence<int,
                                 static_cast<int>(sizeof(V) / sizeof(registers_of_rows[0][0]))>();
  V result[count];
  for (int i = 0; i < count / 2; ++i) {
    const V &a = registers_of_rows[i], &b = registers_of_rows[i + count / 2];
    interleave<false>(result[2 * i], a, b, all);
    interleave<true>(result[2 * i + 1], a, b, all);
  }
  for (int i = 0; i < count; ++i) registers_of_rows[i] = result[i];
}

/// The lanes from `first` on of squares that are as large as 16 bytes have elements.
template <int first, std::int64_t lanes, typename T>
[[gnu::always_inline]] inline void turn_parts(T* __restrict to, const T* __restrict from,
                                              std::int64_t step) {
  constexpr int side = 16 / sizeof(T);
  using Loose = typename VectorType<T, 16>::loose;
  using LoosePart = typename VectorType<T, side>::loose;
  Vector<T, 16> square[side];
  for (int lane = 0; lane < side; ++lane)
    square[lane] = first + lane < lanes
                       ? *reinterpret_cast<const Loose*>(from + (first + lane) * step)
                       : Vector<T, 16>{};
  interleave_halves(square);
  interleave_halves(square);
  interleave_halves(square);
  if constexpr (side == 16) interleave_halves(square);
  for (int row = 0; row < side; ++row)
    for (int part = 0; part < 16 / side; ++part)
      *reinterpret_cast<LoosePart*>(to + 16 * (row + part * side) + first) =
          reinterpret_cast<const LoosePart*>(&square[row])[part];
}

/// The same as turn_square for elements of 8 or 16 bits, by instructions that stay in parts of 16 bytes, which are faster.
template <std::int64_t lanes, typename T>
[[maybe_unused, gnu::always_inline]] inline void turn_in_parts(T* __restrict to,
                                                               const T* __restrict from,
                                                               std::int64_t step) {
  turn_parts<0, lanes>(to, from, step);
  if constexpr (sizeof(T) == 2) turn_parts<8, lanes>(to, from, step);
}

#define TURNS_IN_REGISTERS

template <int first, typename Part, typename V, int... lane>
[[gnu::always_inline]] inline void take_part(Part& to, const V& all,
                                             std::integer_sequence<int, lane...>) {
  to = __builtin_shufflevector(all, all, (first + lane)...);
}

/// The greatest or the least of the elements, none of which is NaN.
template <bool is_greatest, typename V>
[[maybe_unused, gnu::always_inline]] inline float extreme_of_vector(const V& all) {
  constexpr int half = sizeof(V) / sizeof(float) / 2;
  constexpr auto places = std::make_integer_sequence<int, half>();
  if constexpr (half == 1) {
    return is_greatest ? (all[0] > all[1] ? all[0] : all[1]) : (all[0] < all[1] ? all[0] : all[1]);
  } else {
    Vector<float, half> a, b;
    take_part<0>(a, all, places);
    take_part<half>(b, all, places);
    a = is_greatest ? (a > b ? a : b) : (a < b ? a : b);
    return extreme_of_vector<is_greatest>(a);
  }
}
#endif

/// A square of elements is transposed: to[16 * row + lane] = from[row + lane * step]. The rows lie side by side.
template <std::int64_t rows, std::int64_t lanes, typename T>
[[maybe_unused]] inline void turn(T* __restrict to, const T* __restrict from, std::int64_t step) {
#if defined(TURNS_IN_REGISTERS)
  constexpr bool is_square = rows == 16 && lanes <= 16;
  if constexpr (std::is_same_v<T, float> && is_square) {
    turn_square<lanes>(to, from, step);
    return;
  }
  if constexpr (sizeof(T) <= 2 && is_square) {
    using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
    turn_in_parts<lanes>(reinterpret_cast<Bits*>(to), reinterpret_cast<const Bits*>(from), step);
    return;
  }
#endif
  for (std::int64_t lane = 0; lane < lanes; ++lane)
    for (std::int64_t row = 0; row < rows; ++row) to[16 * row + lane] = from[row + lane * step];
}

/// The result of `count` partial results, a power of two: the first half with the second half, until one is left.
template <std::int64_t count, typename T, typename Step>
[[maybe_unused, gnu::always_inline]] inline T combined_in_pairs(T* partial, const Step& step) {
  if constexpr (count == 1) {
    return partial[0];
  } else {
    for (std::int64_t i = 0; i < count / 2; ++i)
      partial[i] = step(partial[i], partial[i + count / 2]);
    return combined_in_pairs<count / 2>(partial, step);
  }
}

/// The greater or the lesser one of two numbers, of which neither is NaN.
template <bool is_greatest, typename T>
[[maybe_unused, gnu::always_inline]] inline T extreme(T a, T b) {
  return is_greatest ? (a > b ? a : b) : (a < b ? a : b);
}

/// One more number for a lane; `size` is the greatest without its sign, as an integer: that of NaN is greater than that of
/// infinity.
template <bool is_greatest>
[[maybe_unused, gnu::always_inline]] inline void take_extreme(float& total, std::uint32_t& size,
                                                              float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value) & 0x7fffffffU;
  size = size > bits ? size : bits;
  total = extreme<is_greatest>(total, value);
}

/// The greatest or the least number of all lanes; NaN if there was one. Their count is a power of two.
template <std::int64_t count, bool is_greatest>
[[maybe_unused, gnu::always_inline]] inline float extreme_of_lanes(float* lanes,
                                                                   std::uint32_t* sizes) {
  std::uint32_t size = 0;
  for (std::int64_t i = 0; i < count; ++i) size = size > sizes[i] ? size : sizes[i];
  if (__builtin_expect(size > 0x7f800000U, 0)) return __builtin_nanf("");
#if defined(__clang__) || __GNUC__ >= 12
  if constexpr (count >= 16) {
    Vector<float, 16> all = *reinterpret_cast<const Vector<float, 16>*>(lanes);
    for (std::int64_t i = 16; i < count; i += 16) {
      const Vector<float, 16> more = *reinterpret_cast<const Vector<float, 16>*>(lanes + i);
      all = is_greatest ? (all > more ? all : more) : (all < more ? all : more);
    }
    return extreme_of_vector<is_greatest>(all);
  }
#endif
  return combined_in_pairs<count>(lanes, extreme<is_greatest, float>);
}

template <std::int64_t lanes, typename T>
[[gnu::always_inline]] inline void store(T* to, const Vector<T, lanes>& from) {
  *reinterpret_cast<typename VectorType<T, lanes>::loose*>(to) = from;
}

}  // namespace
