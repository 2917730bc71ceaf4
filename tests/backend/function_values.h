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
}
namespace avx2 {
const FunctionTable& functions();
}
namespace avx512 {
const FunctionTable& functions();
}
