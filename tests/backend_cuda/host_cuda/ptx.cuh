#pragma once
// Takes the place of the emitted ptx.cuh: the same functions without PTX, and those without an order of memory, which
// mutants call.

#include <cstdint>

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

template <typename T>
T from_lane_xor(T value, unsigned distance) {
  T result = value;
  host_cuda::exchange(&value, &result, sizeof(T), distance);
  return result;
}

inline unsigned char* shared_memory() { return host_cuda::shared_memory(); }

}  // namespace ptx
