#include "lowering/lanes.h"

#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "lowering/field.h"

namespace lemma::lowering {

std::string_view name(Domain domain) {
  switch (domain) {
    case Domain::native: return "native";
    case Domain::f64: return "f64";
    case Domain::exact_integer: return "exact integers";
    case Domain::prime_field: return "prime field";
  }
  return "";
}

LaneKind lane_kind(DataType type, Domain domain) {
  if (type == DataType::boolean) return LaneKind::boolean;
  if (is_integer(type) || is_narrow(type)) return LaneKind::integer;
  switch (domain) {
    case Domain::native: return type == DataType::f64 ? LaneKind::f64 : LaneKind::f32;
    case Domain::f64: return LaneKind::f64;
    case Domain::exact_integer: return LaneKind::exact;
    case Domain::prime_field: return LaneKind::field;
  }
  return LaneKind::f32;
}

std::uint64_t field_constant(double value, DataType type) {
  auto rounds_to_value = [&](double candidate) {
    if (type == DataType::f32) return static_cast<float>(candidate) == static_cast<float>(value);
    if (type == DataType::f16 || type == DataType::bf16) return false;
    return candidate == value;
  };
  if (std::abs(value) < 0x1p40) {
    for (int denominator = 1; denominator <= 4096; ++denominator) {
      const double numerator = std::nearbyint(value * denominator);
      if (value != 0 && numerator == 0) continue;
      if (rounds_to_value(numerator / denominator))
        return field_multiply(field_of(static_cast<std::int64_t>(numerator)),
                              field_inverse(field_of(denominator)));
    }
  }
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  const auto integer = static_cast<std::int64_t>(std::ldexp(mantissa, 53));
  // 2^61 = 1: powers of two repeat with period 61.
  const int shift = ((exponent - 53) % 61 + 61) % 61;
  return field_multiply(field_of(integer), std::uint64_t{1} << shift);
}

Result<std::uint64_t> constant_lane(double real, std::int64_t integer, DataType type,
                                    Domain domain) {
  if (type == DataType::boolean) return integer != 0 ? 1 : 0;
  if (is_integer(type) || is_narrow(type)) return static_cast<std::uint64_t>(integer);
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

}  // namespace lemma::lowering
