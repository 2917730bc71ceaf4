#pragma once
// Elements of the libraries' types, for the plain loops that stand for their calls. The CUDA header comes before it.

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

namespace host_cuda {

enum class Element { f32, f16, bf16 };

inline float load_element(const void* tensor, std::int64_t index, Element type) {
  switch (type) {
    case Element::f16: return static_cast<float>(static_cast<const _Float16*>(tensor)[index]);
    case Element::bf16:
      return std::bit_cast<float>(std::uint32_t{static_cast<const std::uint16_t*>(tensor)[index]}
                                  << 16U);
    default: return static_cast<const float*>(tensor)[index];
  }
}

/// Rounded to the nearest, ties to even.
inline void store_element(void* tensor, std::int64_t index, float value, Element type) {
  if (type == Element::f16) {
    static_cast<_Float16*>(tensor)[index] = static_cast<_Float16>(value);
  } else if (type == Element::bf16) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    static_cast<std::uint16_t*>(tensor)[index] =
        value != value ? 0x7fc0
                       : static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U);
  } else {
    static_cast<float*>(tensor)[index] = value;
  }
}

/// Calls leave something else in their workspace. Each write is one for the sanitizer, which does not see those of a memset
/// that the compiler puts in place. Whole words are written: the sanitizer remembers four accesses to a word and replaces them
/// in turn, so that it forgets bytes that one call has written before another call writes the same ones.
inline void spoil(void* workspace, std::size_t bytes) {
  volatile std::uint64_t* const at = static_cast<std::uint64_t*>(workspace);
  // No two words are equal: counters that it overwrites do not agree.
  for (std::size_t i = 0; i < bytes / sizeof(std::uint64_t); ++i)
    at[i] = 0xf5f4f3f2f1f0efee + i * 0xa5a5a5a5a5a5a5a5;
}

}  // namespace host_cuda
