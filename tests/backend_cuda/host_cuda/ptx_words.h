#pragma once
// What the instructions of PTX mean (PTX ISA 9.0, chapter 9), for C++ that tests make of nvcc's PTX (ptx_translation.py). Registers
// are unsigned words; an instruction takes them as the type in its name. Shared memory has addresses of its own, from 0 on.

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "host_cuda.h"
#include "ptx.cuh"

namespace ptx_words {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
using f32 = float;
using f64 = double;
using b8 = u8;
using b16 = u16;
using b32 = u32;
using b64 = u64;

/// The contents of a register as a type, and a value as those of a register.
template <typename T, typename Register>
T as(Register contents) {
  if constexpr (std::is_floating_point_v<T>) {
    using Word = std::conditional_t<sizeof(T) == 4, u32, u64>;
    return std::bit_cast<T>(static_cast<Word>(contents));
  } else {
    return static_cast<T>(contents);
  }
}
template <typename Register, typename T>
void put(Register& to, T value) {
  if constexpr (std::is_same_v<T, float>)
    to = static_cast<Register>(std::bit_cast<u32>(value));
  else if constexpr (std::is_same_v<T, double>)
    to = static_cast<Register>(std::bit_cast<u64>(value));
  else
    to = static_cast<Register>(value);  // a signed value is extended by its sign
}

// ---- Memory

inline u64 shared_place(u64 address) {
  if (static_cast<u32>(address) >= host_cuda::shared_bytes())
    host_cuda::give_up("an address behind the shared memory");
  return reinterpret_cast<u64>(host_cuda::shared_memory()) + static_cast<u32>(address);
}
inline u64 to_shared(u64 generic) {
  return generic - reinterpret_cast<u64>(host_cuda::shared_memory());
}
inline u64 from_shared(u64 address) {
  return reinterpret_cast<u64>(host_cuda::shared_memory()) + address;
}

/// A word that addresses memory of the device: it must not be in the block's.
inline u64 global_place(u64 address) {
  if (to_shared(address) < host_cuda::shared_bytes())
    host_cuda::give_up("shared memory is accessed as the device's");
  return address;
}
inline u64 aligned(u64 place, std::size_t bytes) {
  if (place % bytes != 0) host_cuda::give_up("an access that is not aligned");
  return place;
}
template <typename T>
T load(u64 place) {
  return *reinterpret_cast<const T*>(place);
}
template <typename T>
void store(u64 place, T value) {
  *reinterpret_cast<T*>(place) = value;
}
/// Parameters lie as they are handed over, in bytes.
template <typename T>
T load_parameter(u64 place) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(place), sizeof(T));
  return value;
}
template <typename T>
void store_parameter(u64 place, T value) {
  std::memcpy(reinterpret_cast<void*>(place), &value, sizeof(T));
}

// ---- Integers

template <typename T>
T shift_left(T value, u32 bits) {
  return bits >= sizeof(T) * 8 ? T{0} : static_cast<T>(value << bits);
}
template <typename T>
T shift_right(T value, u32 bits) {
  if (bits >= sizeof(T) * 8) return std::is_signed_v<T> && value < 0 ? static_cast<T>(-1) : T{0};
  return static_cast<T>(value >> bits);
}
template <typename T>
T high_of_product(T left, T right) {
  using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  return static_cast<T>((static_cast<Wide>(left) * static_cast<Wide>(right)) >> (sizeof(T) * 8));
}
inline u32 permuted(u32 low, u32 high, u32 selection) {
  const u64 bytes = static_cast<u64>(high) << 32U | low;
  u32 result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const u32 number = selection >> (4 * i) & 15U;
    u32 byte = static_cast<u32>(bytes >> (8 * (number & 7U)) & 255U);
    if ((number & 8U) != 0) byte = (byte & 128U) != 0 ? 255 : 0;  // its sign in all bits
    result |= byte << (8 * i);
  }
  return result;
}
template <typename T>
T bits_inserted(T from, T to, u32 position, u32 count) {
  position &= 255U;
  count &= 255U;
  for (u32 i = 0; i < count && i + position < sizeof(T) * 8; ++i) {
    const T bit = static_cast<T>(T{1} << (i + position));
    to = static_cast<T>((to & ~bit) | ((from >> i & T{1}) != 0 ? bit : T{0}));
  }
  return to;
}
template <typename T>
T bits_extracted(T from, u32 position, u32 count) {
  using Word = std::make_unsigned_t<T>;
  constexpr u32 width = sizeof(T) * 8;
  position &= 255U;
  count &= 255U;
  const bool has_sign = std::is_signed_v<T> && count != 0;
  const u32 sign_place = position + count - 1 < width ? position + count - 1 : width - 1;
  const bool sign = has_sign && (static_cast<Word>(from) >> sign_place & 1U) != 0;
  Word result = 0;
  for (u32 i = 0; i < width; ++i) {
    const bool bit = i < count && i + position < width
                         ? (static_cast<Word>(from) >> (i + position) & 1U) != 0
                         : sign;
    result |= static_cast<Word>(bit ? Word{1} << i : Word{0});
  }
  return static_cast<T>(result);
}
/// Sums of products of the halves of one word and two bytes of another, from a bit on; and of the bytes of both.
template <typename Half, typename Byte>
u32 two_products(u32 halves, u32 bytes, u32 sum, u32 first_bit) {
  for (u32 i = 0; i < 2; ++i)
    sum += static_cast<u32>(s32{static_cast<Half>(halves >> (16 * i))} *
                            s32{static_cast<Byte>(bytes >> (first_bit + 8 * i))});
  return sum;
}
template <typename Left, typename Right>
u32 four_products(u32 left, u32 right, u32 sum) {
  for (u32 i = 0; i < 4; ++i)
    sum += static_cast<u32>(s32{static_cast<Left>(left >> (8 * i))} *
                            s32{static_cast<Right>(right >> (8 * i))});
  return sum;
}
/// A function of the bits of three words: bit i of the table is its value where they make the number i.
inline u32 three_word_logic(u32 a, u32 b, u32 c, u32 table) {
  u32 result = 0;
  for (unsigned i = 0; i < 32; ++i)
    result |= (table >> ((a >> i & 1U) << 2U | (b >> i & 1U) << 1U | (c >> i & 1U)) & 1U) << i;
  return result;
}
inline u32 funnel_left(u32 low, u32 high, u32 bits, bool wraps) {
  bits = wraps ? bits & 31U : (bits < 32 ? bits : 32);
  return static_cast<u32>((static_cast<u64>(high) << 32U | low) << bits >> 32U);
}
inline u32 funnel_right(u32 low, u32 high, u32 bits, bool wraps) {
  bits = wraps ? bits & 31U : (bits < 32 ? bits : 32);
  return static_cast<u32>((static_cast<u64>(high) << 32U | low) >> bits);
}

// ---- Floating point

template <typename T>
T flushed(T value) {
  return std::fabs(value) < std::numeric_limits<T>::min() ? std::copysign(T{0}, value) : value;
}
/// To integers: what is no number becomes 0, what is too large the nearest that there is.
template <typename To, typename From>
To to_integer(From value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<From>(std::numeric_limits<To>::min()))
    return std::numeric_limits<To>::min();
  if (value >= static_cast<From>(std::numeric_limits<To>::max()))
    return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}
[[gnu::noinline]] inline float fused_downward(float a, float b, float c) {
  const int before = std::fegetround();
  std::fesetround(FE_DOWNWARD);
  volatile float x = a, y = b, z = c;
  volatile float result = std::fma(x, y, z);
  std::fesetround(before);
  return result;
}
template <typename T>
T least(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fmin(a, b);
  else
    return a < b ? a : b;
}
template <typename T>
T largest(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fmax(a, b);
  else
    return a > b ? a : b;
}
template <typename T>
bool is_unordered(T a, T b) {
  return std::isnan(a) || std::isnan(b);
}

// ---- Threads

/// `segments`: 31 where all lanes of a warp are one.
inline u32 from_lane_xor(u32 value, u32 distance, u32 segments, u32 mask) {
  if (segments != 31) host_cuda::give_up("an exchange in segments");
  u32 result = value;
  host_cuda::exchange(&value, &result, sizeof(value), distance,
                      static_cast<unsigned>(std::popcount(mask)));
  return result;
}

}  // namespace ptx_words
