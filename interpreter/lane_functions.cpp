// Scalar functions, casts and constants on lanes.

#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "interpreter/lane_kernels.h"
#include "interpreter/lane_operations.h"
#include "interpreter/tensor.h"
#include "ir/constant.h"

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

template <typename T>
UnaryOperation real_function(ScalarFunction function) {
  using F = ScalarFunction;
  switch (function) {
    case F::negate: return For<T>::of([](T x) { return -x; });
    case F::absolute: return For<T>::of([](T x) { return std::abs(x); });
    case F::sign:
      return For<T>::of([](T x) { return x > 0 ? T{1} : x < 0 ? T{-1} : x == 0 ? T{0} : x; });
    case F::floor: return For<T>::of([](T x) { return std::floor(x); });
    case F::ceil: return For<T>::of([](T x) { return std::ceil(x); });
    case F::round: return For<T>::of([](T x) { return std::nearbyint(x); });
    case F::exp: return For<T>::of([](T x) { return std::exp(x); });
    case F::log: return For<T>::of([](T x) { return std::log(x); });
    case F::sqrt: return For<T>::of([](T x) { return std::sqrt(x); });
    case F::reciprocal: return For<T>::of([](T x) { return T{1} / x; });
    case F::sin: return For<T>::of([](T x) { return std::sin(x); });
    case F::cos: return For<T>::of([](T x) { return std::cos(x); });
    case F::tan: return For<T>::of([](T x) { return std::tan(x); });
    case F::asin: return For<T>::of([](T x) { return std::asin(x); });
    case F::acos: return For<T>::of([](T x) { return std::acos(x); });
    case F::atan: return For<T>::of([](T x) { return std::atan(x); });
    case F::sinh: return For<T>::of([](T x) { return std::sinh(x); });
    case F::cosh: return For<T>::of([](T x) { return std::cosh(x); });
    case F::tanh: return For<T>::of([](T x) { return std::tanh(x); });
    case F::asinh: return For<T>::of([](T x) { return std::asinh(x); });
    case F::acosh: return For<T>::of([](T x) { return std::acosh(x); });
    case F::atanh: return For<T>::of([](T x) { return std::atanh(x); });
    case F::erf: return For<T>::of([](T x) { return std::erf(x); });
    case F::is_nan: return For<T>::of([](T x) { return static_cast<std::uint8_t>(x != x); });
    case F::is_infinite:
      return For<T>::of([](T x) { return static_cast<std::uint8_t>(std::isinf(x)); });
    case F::none: break;
  }
  return {};
}

UnaryOperation integer_function(ScalarFunction function, bool unsigned64) {
  using F = ScalarFunction;
  using T = std::int64_t;
  switch (function) {
    case F::negate: return For<T>::of([](T x) { return Subtract::apply(0, x); });
    case F::absolute:
      if (unsigned64) return For<T>::of([](T x) { return x; });
      return For<T>::of([](T x) { return x < 0 ? Subtract::apply(0, x) : x; });
    case F::sign:
      if (unsigned64) return For<T>::of([](T x) { return T{x != 0}; });
      return For<T>::of([](T x) { return static_cast<T>(x > 0) - static_cast<T>(x < 0); });
    case F::floor:
    case F::ceil:
    case F::round: return For<T>::of([](T x) { return x; });
    case F::is_nan:
    case F::is_infinite: return For<T>::of([](T) { return std::uint8_t{0}; });
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
  UnaryOperation found;
  switch (lanes) {
    case LaneKind::boolean: break;
    case LaneKind::integer: found = integer_function(function, unsigned64); break;
    case LaneKind::f32: found = real_function<float>(function); break;
    case LaneKind::f64: found = real_function<double>(function); break;
    case LaneKind::exact: found = exact_function(function); break;
    case LaneKind::field: found = field_function(function); break;
  }
  if (found.kernel != nullptr) return found;
  const char* where = lanes == LaneKind::exact   ? "exact integers"
                      : lanes == LaneKind::field ? "a prime field"
                                                 : "integers and booleans";
  return unsupported(fmt::format("there is no '{}' in {}", name(function), where));
}

namespace {

template <typename Stored>
std::int64_t wrap(std::int64_t value) {
  return static_cast<std::int64_t>(static_cast<Stored>(value));
}
std::int64_t keep(std::int64_t value) { return value; }

using Wrap = std::int64_t (*)(std::int64_t);

/// Rounds toward zero and saturates at 64 bits, so that every value is defined; NaN becomes 0.
template <typename T>
std::int64_t truncated(T value) {
  if (!(value > static_cast<T>(-0x1p63))) return value != value ? 0 : INT64_MIN;
  return value >= static_cast<T>(0x1p63) ? INT64_MAX : static_cast<std::int64_t>(value);
}
template <typename T>
std::int64_t truncated_unsigned(T value) {
  if (value < static_cast<T>(0x1p63)) return truncated(value);
  return value >= static_cast<T>(0x1p64)
             ? -1
             : static_cast<std::int64_t>(static_cast<std::uint64_t>(value));
}

template <typename From, auto convert>
UnaryOperation to_integer(DataType to) {
  auto of = [](auto wrapper) {
    return For<From>::of([](From x) { return decltype(wrapper){}(convert(x)); });
  };
  switch (to) {
    case DataType::i8: return of([](std::int64_t v) { return wrap<std::int8_t>(v); });
    case DataType::u8: return of([](std::int64_t v) { return wrap<std::uint8_t>(v); });
    case DataType::i16: return of([](std::int64_t v) { return wrap<std::int16_t>(v); });
    case DataType::u16: return of([](std::int64_t v) { return wrap<std::uint16_t>(v); });
    case DataType::i32: return of([](std::int64_t v) { return wrap<std::int32_t>(v); });
    case DataType::u32: return of([](std::int64_t v) { return wrap<std::uint32_t>(v); });
    default: return of([](std::int64_t v) { return keep(v); });
  }
}

template <typename T>
UnaryOperation from_native_real(DataType to) {
  if (to == DataType::boolean)
    return For<T>::of([](T x) { return static_cast<std::uint8_t>(x != 0); });
  if (to == DataType::u64) return to_integer<T, truncated_unsigned<T>>(to);
  if (is_integer(to)) return to_integer<T, truncated<T>>(to);
  if (to == DataType::f64) return For<T>::of([](T x) { return static_cast<double>(x); });
  if (to == DataType::f16)
    return For<T>::of([](T x) { return f16_to_f32(f32_to_f16(static_cast<float>(x))); });
  if (to == DataType::bf16)
    return For<T>::of([](T x) { return bf16_to_f32(f32_to_bf16(static_cast<float>(x))); });
  return For<T>::of([](T x) { return static_cast<float>(x); });
}

template <typename T>
UnaryOperation integer_to_native(DataType from, DataType to) {
  if (to == DataType::f16)
    return For<T>::of([](T x) { return f16_to_f32(f32_to_f16(static_cast<float>(x))); });
  if (to == DataType::bf16)
    return For<T>::of([](T x) { return bf16_to_f32(f32_to_bf16(static_cast<float>(x))); });
  const bool is_unsigned = from == DataType::u64;
  if (to == DataType::f64) {
    if (is_unsigned)
      return For<T>::of([](T x) { return static_cast<double>(static_cast<std::uint64_t>(x)); });
    return For<T>::of([](T x) { return static_cast<double>(x); });
  }
  if (is_unsigned)
    return For<T>::of([](T x) { return static_cast<float>(static_cast<std::uint64_t>(x)); });
  return For<T>::of([](T x) { return static_cast<float>(x); });
}

/// From integers or booleans.
template <typename T>
UnaryOperation from_integer(DataType from, DataType to, Domain domain) {
  if (to == DataType::boolean)
    return For<T>::of([](T x) { return static_cast<std::uint8_t>(x != 0); });
  if (is_integer(to)) return to_integer<T, [](T x) { return static_cast<std::int64_t>(x); }>(to);
  switch (domain) {
    case Domain::native: return integer_to_native<T>(from, to);
    case Domain::f64: return integer_to_native<T>(from, DataType::f64);
    case Domain::exact_integer: return For<T>::of([](T x) { return Exact{x}; });
    case Domain::prime_field: return For<T>::of([](T x) { return Residue{field_of(x)}; });
  }
  return {};
}

}  // namespace

Result<UnaryOperation> cast_operation(DataType from, DataType to, Domain domain) {
  if (from == DataType::boolean) return from_integer<std::uint8_t>(from, to, domain);
  if (is_integer(from)) return from_integer<std::int64_t>(from, to, domain);
  if (is_real(to) && domain != Domain::native)
    return For<std::uint64_t>::of([](std::uint64_t x) { return x; });
  switch (domain) {
    case Domain::native:
      return from == DataType::f64 ? from_native_real<double>(to) : from_native_real<float>(to);
    case Domain::f64: return from_native_real<double>(to);
    case Domain::exact_integer:
      if (to == DataType::boolean)
        return For<Exact>::of([](Exact x) { return static_cast<std::uint8_t>(x.v != 0); });
      return to_integer<Exact, [](Exact x) { return x.v; }>(to);
    case Domain::prime_field:
      if (to == DataType::boolean)
        return For<Residue>::of([](Residue x) { return static_cast<std::uint8_t>(x.v != 0); });
      return unsupported(fmt::format("a residue of a prime field has no {} value", name(to)));
  }
  return unsupported("cast");
}

Result<std::uint64_t> constant_lane(double real, std::int64_t integer, DataType type,
                                    Domain domain) {
  if (type == DataType::boolean) return integer != 0 ? 1 : 0;
  if (is_integer(type)) return static_cast<std::uint64_t>(integer);
  switch (lane_kind(type, domain)) {
    case LaneKind::f32: return std::bit_cast<std::uint32_t>(static_cast<float>(real));
    case LaneKind::f64: return std::bit_cast<std::uint64_t>(real);
    case LaneKind::exact:
      if (std::isinf(real)) return static_cast<std::uint64_t>(real > 0 ? INT64_MAX : INT64_MIN);
      if (real != std::floor(real) || std::abs(real) >= 0x1p63)
        return unsupported(fmt::format("the constant {} is not an exact integer", real));
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(real));
    default:
      if (!std::isfinite(real))
        return unsupported(fmt::format("the constant {} is not in a prime field", real));
      return field_constant(real, type);
  }
}

}  // namespace lemma::interpreter
