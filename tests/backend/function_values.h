#pragma once
// The functions of emitted programs, for many elements, compiled for several instruction sets (function_errors.cpp).

#include <array>
#include <cstddef>
#include <string_view>

struct FunctionValues {
  std::string_view name;
  void (*apply)(const float* from, float* to, std::size_t count);
};

inline constexpr std::size_t function_count = 15;
using FunctionTable = std::array<FunctionValues, function_count>;

namespace plain {
const FunctionTable& functions();
void quotients(const float* from, float by, float* to, std::size_t count);
}  // namespace plain
namespace avx2 {
const FunctionTable& functions();
void quotients(const float* from, float by, float* to, std::size_t count);
}  // namespace avx2
namespace avx512 {
const FunctionTable& functions();
void quotients(const float* from, float by, float* to, std::size_t count);
}  // namespace avx512
