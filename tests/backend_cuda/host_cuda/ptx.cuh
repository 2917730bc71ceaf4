#pragma once
// Takes the place of the emitted ptx.cuh: the same functions without PTX, and those without an order of memory, which
// mutants call.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "half_precision.h"
#include "host_cuda.h"

namespace ptx {

inline std::uint64_t load_acquire(const std::uint64_t* from) { return host_cuda::load(from, true); }
inline std::uint64_t load_relaxed(const std::uint64_t* from) {
  return host_cuda::load(from, false);
}
inline void add_release(std::uint64_t* to, std::uint64_t summand) {
  host_cuda::add(to, summand, true);
}
inline void add_relaxed(std::uint64_t* to, std::uint64_t summand) {
  host_cuda::add(to, summand, false);
}
inline void pause() { host_cuda::pause(); }
inline std::uint64_t nanoseconds() { return host_cuda::nanoseconds(); }
inline bool is_first(std::uint64_t* place) { return host_cuda::is_first(place); }
inline void publish_to_host() {}
inline void trap() { host_cuda::trap(); }

template <unsigned lanes, typename T>
T from_lane_xor(T value, unsigned distance) {
  T result = value;
  host_cuda::exchange(&value, &result, sizeof(T), distance, lanes);
  return result;
}

/// What is copied to has no meaning from the call on, and has what is copied only when the thread waits for it: so the
/// memory is written at the beginning and at the end of the time in which a device may write it.
template <int bytes>
void copy_async(void* to, const void* from, bool is_read) {
  if (reinterpret_cast<std::uintptr_t>(to) % bytes != 0 ||
      (is_read && reinterpret_cast<std::uintptr_t>(from) % bytes != 0))
    host_cuda::give_up("a copy is not aligned");
  std::memset(to, 0xff, bytes);
  host_cuda::Copies& copies = host_cuda::copies();
  copies.begun.push_back({to, from, bytes, is_read, copies.groups});
}

inline void commit_copies() { ++host_cuda::copies().groups; }

template <int running>
void wait_for_copies() {
  host_cuda::Copies& copies = host_cuda::copies();
  std::size_t left = 0;
  for (const host_cuda::Copy& copy : copies.begun) {
    if (copy.group + running >= copies.groups) {
      copies.begun[left++] = copy;
    } else if (copy.is_read) {
      std::memcpy(copy.to, copy.from, copy.bytes);
    } else {
      std::memset(copy.to, 0, copy.bytes);
    }
  }
  copies.begun.resize(left);
}

template <bool is_turned, std::size_t count>
void load_matrices(std::uint32_t (&elements)[count], const void* row) {
  if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0) host_cuda::give_up("a row of a matrix is not aligned");
  const unsigned char* rows[32];
  host_cuda::gather(&row, rows, sizeof(row));
  const unsigned lane = host_cuda::thread_index().x % 32;
  for (unsigned matrix = 0; matrix < count; ++matrix) {
    std::uint16_t pair[2];
    for (unsigned i = 0; i < 2; ++i) {
      const unsigned line = is_turned ? lane % 4 * 2 + i : lane / 4;
      const unsigned place = is_turned ? lane / 4 : lane % 4 * 2 + i;
      std::memcpy(&pair[i], rows[8 * matrix + line] + 2 * place, 2);
    }
    elements[matrix] = pair[0] | static_cast<std::uint32_t>(pair[1]) << 16U;
  }
}

/// The sums of a lane, where a register has `packed` terms and `value` has the number of one of them. Blocks of four registers
/// have the same terms: lines first, then those further on.
template <unsigned packed, typename Value>
void multiply(float (&sums)[4], const std::uint32_t (&rows)[4], const std::uint32_t (&columns)[2], const Value& value) {
  std::uint32_t all_rows[32][4], all_columns[32][2];
  host_cuda::gather(rows, all_rows, sizeof(rows));
  host_cuda::gather(columns, all_columns, sizeof(columns));
  const unsigned lane = host_cuda::thread_index().x % 32;
  for (unsigned sum = 0; sum < 4; ++sum) {
    const unsigned row = lane / 4 + sum / 2 * 8, column = lane % 4 * 2 + sum % 2;
    for (unsigned term = 0; term < 8 * packed; ++term) {
      const unsigned further = term / (4 * packed), owner = term % (4 * packed) / packed, part = term % packed;
      const std::uint32_t left = all_rows[row % 8 * 4 + owner][row / 8 + 2 * further];
      const std::uint32_t right = all_columns[column * 4 + owner][further];
      sums[sum] += value(left, part) * value(right, part);
    }
  }
}

inline void multiply_f16(float (&sums)[4], const std::uint32_t (&rows)[4], const std::uint32_t (&columns)[2]) {
  multiply<2>(sums, rows, columns, [](std::uint32_t pair, unsigned part) {
    return lemma::half_precision::f16_to_f32(static_cast<std::uint16_t>(pair >> (16 * part)));
  });
}
inline void multiply_bf16(float (&sums)[4], const std::uint32_t (&rows)[4], const std::uint32_t (&columns)[2]) {
  multiply<2>(sums, rows, columns, [](std::uint32_t pair, unsigned part) {
    return lemma::half_precision::bf16_to_f32(static_cast<std::uint16_t>(pair >> (16 * part)));
  });
}
inline void multiply_tf32(float (&sums)[4], const std::uint32_t (&rows)[4], const std::uint32_t (&columns)[2]) {
  // The device takes no notice of the other bits.
  multiply<1>(sums, rows, columns, [](std::uint32_t bits, unsigned) { return std::bit_cast<float>(bits & ~0x1fffU); });
}

template <typename T>
T* in_memory(T* pointer) {
  if (reinterpret_cast<std::uintptr_t>(pointer) % 16 != 0) host_cuda::give_up("a tensor is not aligned");
  const auto* const shared = host_cuda::shared_memory();
  const auto* const bytes = reinterpret_cast<const unsigned char*>(pointer);
  if (bytes >= shared && bytes < shared + host_cuda::shared_bytes()) host_cuda::give_up("a tensor is in shared memory");
  return pointer;
}
template <typename T>
T* in_block(T* pointer) {
  const auto* const shared = host_cuda::shared_memory();
  const auto* const bytes = reinterpret_cast<const unsigned char*>(pointer);
  if (bytes < shared || bytes >= shared + host_cuda::shared_bytes()) host_cuda::give_up("a slot is not in shared memory");
  return pointer;
}

template <typename T, unsigned count>
struct alignas(count * sizeof(T)) Together {
  T at[count];
};
inline void check_together(const void* place, std::size_t bytes) {
  if (reinterpret_cast<std::uintptr_t>(place) % bytes != 0) host_cuda::give_up("elements that lie side by side are not aligned");
}
template <unsigned count, typename T>
Together<T, count> load_together(const T* from) {
  check_together(from, count * sizeof(T));
  Together<T, count> elements;
  for (unsigned i = 0; i < count; ++i) elements.at[i] = from[i];
  return elements;
}
template <typename T, unsigned count>
void store_together(T* to, const Together<T, count>& elements) {
  check_together(to, count * sizeof(T));
  for (unsigned i = 0; i < count; ++i) to[i] = elements.at[i];
}

inline float from_f16(std::uint16_t bits) { return lemma::half_precision::f16_to_f32(bits); }
inline std::uint16_t to_f16(float value) { return lemma::half_precision::f32_to_f16(value); }
inline std::uint16_t to_bf16(float value) { return lemma::half_precision::f32_to_bf16(value); }

inline std::uint32_t to_tf32(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const bool is_finite = (bits & 0x7f800000U) != 0x7f800000U;
  return is_finite ? (bits + 0x1000U) & ~0x1fffU : bits;
}

inline unsigned char* shared_memory() { return host_cuda::shared_memory(); }

}  // namespace ptx
