#pragma once
// The 16-bit floating-point types: conversions between their bits and f32, to which every one of their values belongs.
// Constants, the interpreter and generated source share this file, which needs only the standard library. There are no
// branches, so that loops over elements become vectors. All is constexpr, which source for CUDA may call on the device.

#include <bit>
#include <cstdint>

namespace lemma::half_precision {

/// IEEE 754 binary16.
constexpr float f16_to_f32(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t magnitude = (half & 0x7fffU) << 13;
  // The exponent's bias is less by 112; the product is exact, also of what is subnormal in 16 bits.
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112F;
  const std::uint32_t not_finite = magnitude >= 0x0f800000U ? 0x7f800000U : 0U;
  return std::bit_cast<float>(sign | not_finite | std::bit_cast<std::uint32_t>(scaled));
}

/// The nearest value, of two the one with an even last bit; infinite from 65520 on; NaN becomes the quiet NaN of its
/// sign.
constexpr std::uint16_t f32_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t normal = (magnitude + 0xfffU + ((magnitude >> 13) & 1U) - (112U << 23)) >> 13;
  // Subnormal: added to 0.5, whose last bit is worth 2^-24, the processor rounds to a multiple of it.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
  const std::uint32_t finite = magnitude < 0x38800000U ? subnormal : normal;
  const std::uint32_t limited = magnitude >= 0x477ff000U ? 0x7c00U : finite;
  return static_cast<std::uint16_t>(sign | (magnitude > 0x7f800000U ? 0x7e00U : limited));
}

/// bfloat16: the upper half of an f32.
constexpr float bf16_to_f32(std::uint16_t half) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}

/// The nearest value, of two the one with an even last bit; NaN keeps its sign and upper bits and becomes quiet.
constexpr std::uint16_t f32_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40U;
  return static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? quiet : rounded);
}

}  // namespace lemma::half_precision
