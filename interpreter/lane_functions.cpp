// Scalar functions, casts and constants on lanes.

#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "interpreter/lane_kernels.h"
#include "interpreter/lane_operations.h"
#include "interpreter/tensor.h"
#include "ir/constant.h"
#include "lowering/operation_table.h"

namespace lemma::interpreter {

namespace {

template <typename From, typename To, auto function>
void unary_kernel(const void* a, void* out, std::uint8_t* /*ok*/, std::size_t count) {
  const From* operand = static_cast<const From*>(a);
  To* result = static_cast<To*>(out);
  for (std::size_t i = 0; i < count; ++i) result[i] = function(operand[i]);
}

template <typename T, auto function>
void checked_unary_kernel(const void* a, void* out, std::uint8_t* ok, std::size_t count) {
  const T* operand = static_cast<const T*>(a);
  T* result = static_cast<T*>(out);
  for (std::size_t i = 0; i < count; ++i) result[i] = function(operand[i], ok[i]);
}

template <typename From, typename To, auto function>
UnaryOperation plain() {
  return {unary_kernel<From, To, function>, nullptr};
}

/// The kernel of an operation without captures on T, with result T or a boolean.
template <typename T>
struct For {
  template <typename Function>
  static UnaryOperation of(Function) {
    using R = decltype(Function{}(T{}));
    return plain<T, R, Function{}>();
  }
};

// clang-format off
#define LEMMA_CASE(name) \
  case ScalarFunction::name: return For<T>::of([](T x) { return functions::name(x); });
// clang-format on

template <typename T>
UnaryOperation real_function(ScalarFunction function) {
  switch (function) {
    LEMMA_REAL_FUNCTIONS(LEMMA_CASE)
    case ScalarFunction::none: break;
  }
  return {};
}

UnaryOperation integer_function(ScalarFunction function, bool unsigned64) {
  using T = std::int64_t;
  using U = std::uint64_t;
  if (unsigned64 && function == ScalarFunction::absolute)
    return For<U>::of([](U x) { return functions::absolute(x); });
  if (unsigned64 && function == ScalarFunction::sign)
    return For<U>::of([](U x) { return functions::sign(x); });
  switch (function) {
    LEMMA_INTEGER_FUNCTIONS(LEMMA_CASE)
#undef LEMMA_CASE
    default: return {};
  }
}

Exact exact_reciprocal(Exact x, std::uint8_t& ok) {
  if (x.v != 1 && x.v != -1) ok = 0;
  return x;
}
Residue field_reciprocal(Residue x, std::uint8_t& ok) {
  if (x.v == 0) ok = 0;
  return {field_inverse(x.v)};
}

UnaryOperation exact_function(ScalarFunction function) {
  using F = ScalarFunction;
  auto negated = [](Exact x) {
    return Exact{x.v == INT64_MIN ? INT64_MAX : x.v == INT64_MAX ? INT64_MIN : -x.v};
  };
  switch (function) {
    case F::negate: return For<Exact>::of(negated);
    case F::absolute:
      return For<Exact>::of([](Exact x) {
        return Exact{x.v == INT64_MIN ? INT64_MAX : x.v < 0 ? -x.v : x.v};
      });
    case F::sign: return For<Exact>::of([](Exact x) { return Exact{(x.v > 0) - (x.v < 0)}; });
    case F::floor:
    case F::ceil:
    case F::round: return For<Exact>::of([](Exact x) { return x; });
    case F::reciprocal:
      return {checked_unary_kernel<Exact, exact_reciprocal>,
              "inexact division or division by zero in exact integers"};
    case F::is_nan: return For<Exact>::of([](Exact) { return std::uint8_t{0}; });
    case F::is_infinite:
      return For<Exact>::of([](Exact x) { return static_cast<std::uint8_t>(x.is_infinite()); });
    default: return {};
  }
}

UnaryOperation field_function(ScalarFunction function) {
  using F = ScalarFunction;
  switch (function) {
    case F::negate:
      return For<Residue>::of([](Residue x) { return Residue{field_subtract(0, x.v)}; });
    case F::reciprocal:
      return {checked_unary_kernel<Residue, field_reciprocal>, "division by zero in a prime field"};
    case F::is_nan:
    case F::is_infinite: return For<Residue>::of([](Residue) { return std::uint8_t{0}; });
    default: return {};
  }
}

}  // namespace

Result<UnaryOperation> unary_operation(ScalarFunction function, LaneKind lanes, bool unsigned64) {
  UnaryOperation operation;
  switch (lanes) {
    case LaneKind::boolean: break;
    case LaneKind::integer: operation = integer_function(function, unsigned64); break;
    case LaneKind::f32: operation = real_function<float>(function); break;
    case LaneKind::f64: operation = real_function<double>(function); break;
    case LaneKind::exact: operation = exact_function(function); break;
    case LaneKind::field: operation = field_function(function); break;
  }
  if (operation.kernel != nullptr) return operation;
  const char* where = lanes == LaneKind::exact   ? "exact integers"
                      : lanes == LaneKind::field ? "a prime field"
                                                 : "integers and booleans";
  return unsupported(fmt::format("there is no '{}' in {}", name(function), where));
}

namespace {

/// The cast to an element of a native tensor.
template <typename From>
UnaryOperation native_cast(DataType to) {
  const auto of = []<typename To>(To) {
    return For<From>::of([](From x) { return convert<To>(x); });
  };
  switch (to) {
    case DataType::boolean: return of(bool{});
    case DataType::i8: return of(std::int8_t{});
    case DataType::u8: return of(std::uint8_t{});
    case DataType::i16: return of(std::int16_t{});
    case DataType::u16: return of(std::uint16_t{});
    case DataType::i32: return of(std::int32_t{});
    case DataType::u32: return of(std::uint32_t{});
    case DataType::i64: return of(std::int64_t{});
    case DataType::u64: return of(std::uint64_t{});
    case DataType::f64: return of(double{});
    case DataType::f16:
      return For<From>::of([](From x) { return f16_to_f32(f32_to_f16(convert<float>(x))); });
    case DataType::bf16:
      return For<From>::of([](From x) { return bf16_to_f32(f32_to_bf16(convert<float>(x))); });
    default: return of(float{});
  }
}

/// The cast from integers or booleans.
template <typename From>
UnaryOperation from_integer(DataType to, Domain domain) {
  if (is_narrow(to)) return native_cast<From>(DataType::u8);  // the code
  if (!is_real(to) || domain == Domain::native) return native_cast<From>(to);
  if (domain == Domain::f64) return native_cast<From>(DataType::f64);
  if (domain == Domain::exact_integer)
    return For<From>::of([](From x) { return Exact{static_cast<std::int64_t>(x)}; });
  return For<From>::of([](From x) { return Residue{field_of(static_cast<std::int64_t>(x))}; });
}

}  // namespace

Result<UnaryOperation> cast_operation(DataType from, DataType to, Domain domain) {
  if (from == DataType::boolean) return from_integer<std::uint8_t>(to, domain);
  if (from == DataType::u64) return from_integer<std::uint64_t>(to, domain);
  if (is_narrow(to) && !is_integer(from))
    return unsupported(fmt::format("{} as the code of {}", name(from), name(to)));
  if (is_integer(from) || is_narrow(from)) return from_integer<std::int64_t>(to, domain);
  if (is_real(to) && domain != Domain::native)
    return For<std::uint64_t>::of([](std::uint64_t x) { return x; });
  switch (lane_kind(from, domain)) {
    case LaneKind::f32: return native_cast<float>(to);
    case LaneKind::f64: return native_cast<double>(to);
    case LaneKind::exact: return native_cast<std::int64_t>(to);
    default:
      if (to == DataType::boolean) return native_cast<std::uint64_t>(to);
      return unsupported(fmt::format("a residue of a prime field has no {} value", name(to)));
  }
}

}  // namespace lemma::interpreter
