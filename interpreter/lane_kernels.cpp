#include "interpreter/lane_kernels.h"

#include <cstring>

#include <fmt/format.h>

#include "interpreter/lane_operations.h"
#include "lowering/operation_table.h"

namespace lemma::interpreter {

namespace {

template <typename Operation, typename T, int left_step, int right_step>
void binary_kernel(const void* a, const void* b, void* out, std::uint8_t* /*ok*/,
                   std::size_t count) {
  using R = decltype(Operation::apply(T{}, T{}));
  const T* left = static_cast<const T*>(a);
  const T* right = static_cast<const T*>(b);
  R* result = static_cast<R*>(out);
  const T first_left = *left, first_right = *right;
  for (std::size_t i = 0; i < count; ++i)
    result[i] = Operation::apply(left_step != 0 ? left[i] : first_left,
                                 right_step != 0 ? right[i] : first_right);
}

template <typename Operation, typename T, int left_step, int right_step>
void checked_kernel(const void* a, const void* b, void* out, std::uint8_t* ok, std::size_t count) {
  const T* left = static_cast<const T*>(a);
  const T* right = static_cast<const T*>(b);
  T* result = static_cast<T*>(out);
  const T first_left = *left, first_right = *right;
  for (std::size_t i = 0; i < count; ++i)
    result[i] = Operation::apply(left_step != 0 ? left[i] : first_left,
                                 right_step != 0 ? right[i] : first_right, ok[i]);
}

template <typename Operation, typename T>
BinaryOperation plain() {
  return {{binary_kernel<Operation, T, 1, 1>, binary_kernel<Operation, T, 1, 0>,
           binary_kernel<Operation, T, 0, 1>},
          nullptr};
}
template <typename Operation, typename T>
BinaryOperation checked(const char* failure) {
  return {{checked_kernel<Operation, T, 1, 1>, checked_kernel<Operation, T, 1, 0>,
           checked_kernel<Operation, T, 0, 1>},
          failure};
}

using Kind = ExpressionKind;

tl::unexpected<Error> lacking(std::string_view what, LaneKind lanes) {
  constexpr const char* names[] = {"booleans", "integers",       "f32",
                                   "f64",      "exact integers", "a prime field"};
  return unsupported(fmt::format("there is no '{}' in {}", what, names[static_cast<int>(lanes)]));
}

constexpr const char* zero_divisor = "integer division by zero";

// clang-format off
#define LEMMA_PLAIN(kind, Operation) case Kind::kind: return plain<Operation, T>();
#define LEMMA_CHECKED(kind, Operation) case Kind::kind: return checked<Operation, T>(zero_divisor);
// clang-format on

template <typename T>
Result<BinaryOperation> real_operation(Kind kind, LaneKind lanes) {
  switch (kind) {
    LEMMA_REAL_OPERATIONS(LEMMA_PLAIN)
    default: return lacking(name(kind), lanes);
  }
}

Result<BinaryOperation> integer_operation(Kind kind) {
  using T = std::int64_t;
  switch (kind) {
    LEMMA_INTEGER_OPERATIONS(LEMMA_PLAIN, LEMMA_CHECKED)
    default: return lacking(name(kind), LaneKind::integer);
  }
}

Result<BinaryOperation> unsigned_operation(Kind kind) {
  using T = std::uint64_t;
  switch (kind) {
    LEMMA_UNSIGNED_OPERATIONS(LEMMA_PLAIN, LEMMA_CHECKED)
    default: return integer_operation(kind);
  }
}

Result<BinaryOperation> boolean_operation(Kind kind) {
  using T = std::uint8_t;
  switch (kind) {
    LEMMA_BOOLEAN_OPERATIONS(LEMMA_PLAIN)
    default: return lacking(name(kind), LaneKind::boolean);
  }
}
#undef LEMMA_PLAIN
#undef LEMMA_CHECKED

Result<BinaryOperation> exact_operation(Kind kind) {
  constexpr const char* overflow = "overflow in exact integers";
  constexpr const char* division = "inexact division or division by zero in exact integers";
  switch (kind) {
    case Kind::add: return checked<CheckedAdd, Exact>(overflow);
    case Kind::subtract: return checked<CheckedSubtract, Exact>(overflow);
    case Kind::multiply: return checked<CheckedMultiply, Exact>(overflow);
    case Kind::divide: return checked<CheckedDivide, Exact>(division);
    case Kind::floor_divide: return checked<CheckedFloorDivide, Exact>(division);
    case Kind::floor_modulo: return checked<CheckedFloorModulo, Exact>(division);
    case Kind::truncated_modulo: return checked<CheckedModulo, Exact>(division);
    case Kind::power: return checked<CheckedPower, Exact>("overflow or inexact power");
    case Kind::minimum: return plain<Minimum, Exact>();
    case Kind::maximum: return plain<Maximum, Exact>();
    case Kind::equal: return plain<Equal, Exact>();
    case Kind::less: return plain<Less, Exact>();
    case Kind::less_equal: return plain<LessEqual, Exact>();
    default: return lacking(name(kind), LaneKind::exact);
  }
}

Result<BinaryOperation> field_operation(Kind kind) {
  switch (kind) {
    case Kind::add: return plain<Add, Residue>();
    case Kind::subtract: return plain<Subtract, Residue>();
    case Kind::multiply: return plain<Multiply, Residue>();
    case Kind::divide: return checked<CheckedDivide, Residue>("division by zero in a prime field");
    case Kind::equal: return plain<Equal, Residue>();
    default: return lacking(name(kind), LaneKind::field);
  }
}

}  // namespace

Result<BinaryOperation> binary_operation(ExpressionKind kind, LaneKind lanes, bool unsigned64) {
  switch (lanes) {
    case LaneKind::boolean: return boolean_operation(kind);
    case LaneKind::integer: return unsigned64 ? unsigned_operation(kind) : integer_operation(kind);
    case LaneKind::f32: return real_operation<float>(kind, lanes);
    case LaneKind::f64: return real_operation<double>(kind, lanes);
    case LaneKind::exact: return exact_operation(kind);
    case LaneKind::field: return field_operation(kind);
  }
  return lacking(name(kind), lanes);
}

namespace {

template <typename T>
void select_typed(const std::uint8_t* condition, const T* a, bool a_uniform, const T* b,
                  bool b_uniform, T* out, std::size_t count) {
  if (a_uniform && b_uniform) {
    const T x = *a, y = *b;
    for (std::size_t i = 0; i < count; ++i) out[i] = condition[i] != 0 ? x : y;
  } else if (a_uniform) {
    const T x = *a;
    for (std::size_t i = 0; i < count; ++i) out[i] = condition[i] != 0 ? x : b[i];
  } else if (b_uniform) {
    const T y = *b;
    for (std::size_t i = 0; i < count; ++i) out[i] = condition[i] != 0 ? a[i] : y;
  } else {
    for (std::size_t i = 0; i < count; ++i) out[i] = condition[i] != 0 ? a[i] : b[i];
  }
}

}  // namespace

void select_lanes(std::size_t lane_bytes, const std::uint8_t* condition, const void* a,
                  bool a_uniform, const void* b, bool b_uniform, void* out, std::size_t count) {
  auto run = [&]<typename T>(T) {
    select_typed(condition, static_cast<const T*>(a), a_uniform, static_cast<const T*>(b),
                 b_uniform, static_cast<T*>(out), count);
  };
  if (lane_bytes == 1) return run(std::uint8_t{});
  if (lane_bytes == 4) return run(std::uint32_t{});
  return run(std::uint64_t{});
}

void fill_lanes(std::size_t lane_bytes, const void* element, void* out, std::size_t count) {
  auto run = [&]<typename T>(T value) {
    std::memcpy(&value, element, sizeof(T));
    T* lanes = static_cast<T*>(out);
    for (std::size_t i = 0; i < count; ++i) lanes[i] = value;
  };
  if (lane_bytes == 1) return run(std::uint8_t{});
  if (lane_bytes == 4) return run(std::uint32_t{});
  return run(std::uint64_t{});
}

}  // namespace lemma::interpreter
