#include "operators/narrow_types.h"

#include <cmath>
#include <limits>

namespace lemma::operators {

namespace {

using F = ScalarFunction;

/// A sign, then `exponent_bits`, then `mantissa_bits`; subnormal numbers where the exponent is 0.
struct Format {
  int exponent_bits, mantissa_bits, bias;
  int largest;   // the code of the largest number
  int infinity;  // its code, -1: there is none
  int nan;       // the code of a NaN, -1: there is none
  int of_nan;    // the code that NaN becomes
  bool signed_zero = true;
  int sign() const { return 1 << (exponent_bits + mantissa_bits); }
  /// The exponent of the least normal number.
  int least_exponent() const { return 1 - bias; }
};

Format format_of(DataType type) {
  switch (type) {
    case DataType::f8e4m3fn: return {4, 3, 7, 0x7e, -1, 0x7f, 0x7f};
    case DataType::f8e4m3fnuz: return {4, 3, 8, 0x7f, -1, 0x80, 0x80, false};
    case DataType::f8e5m2: return {5, 2, 15, 0x7b, 0x7c, 0x7e, 0x7e};
    case DataType::f8e5m2fnuz: return {5, 2, 16, 0x7f, -1, 0x80, 0x80, false};
    default:
      return {2, 1, 1, 7, -1, -1, 8};  // f4e2m1; NaN becomes -0, as the standard's tests have it
  }
}

Expression number(DefinitionBuilder& d, double value) { return d.real(value, DataType::f64); }

/// 2 to the power of an integer from 0 to 2^bits - 1.
Expression power_of_two(DefinitionBuilder& d, Expression exponent, int bits) {
  Expression result = number(d, 1);
  for (int i = 0; i < bits; ++i) {
    const Expression bit = d.binary(ExpressionKind::bit_and, exponent, d.integer(1 << i));
    result = result * d.select(bit == d.integer(0), number(d, 1), number(d, std::ldexp(1, 1 << i)));
  }
  return result;
}

/// 2^(code - 127); 255 is NaN.
Expression number_of_exponent(DefinitionBuilder& d, Expression code) {
  constexpr int bias = 127;
  const Expression value = power_of_two(d, code, 8) * number(d, std::ldexp(1, -bias));
  return d.select(code == d.integer(255), number(d, std::numeric_limits<double>::quiet_NaN()),
                  value);
}

Expression number_of_float(DefinitionBuilder& d, Expression code, const Format& format) {
  const Expression magnitude =
      d.binary(ExpressionKind::bit_and, code, d.integer(format.sign() - 1));
  const std::int64_t ones = std::int64_t{1} << format.mantissa_bits;
  const Expression exponent = d.floor_div(magnitude, Dimension(ones));
  const Expression mantissa = d.cast(d.floor_mod(magnitude, Dimension(ones)), DataType::f64);
  const double step = std::ldexp(1, format.least_exponent() - format.mantissa_bits);
  const Expression scale = power_of_two(d, exponent - d.integer(1), format.exponent_bits);
  Expression value =
      d.select(exponent == d.integer(0), mantissa * number(d, step),
               (mantissa + number(d, static_cast<double>(ones))) * scale * number(d, step));
  if (format.infinity >= 0) {
    const Expression special = d.select(magnitude == d.integer(format.infinity),
                                        number(d, std::numeric_limits<double>::infinity()),
                                        number(d, std::numeric_limits<double>::quiet_NaN()));
    value = d.select(magnitude < d.integer(format.infinity), value, special);
  }
  value = d.select(code < d.integer(format.sign()), value, d.apply(F::negate, value));
  if (format.nan < 0 || format.infinity >= 0) return value;
  const Expression nan = format.signed_zero ? magnitude : code;
  return d.select(nan == d.integer(format.nan), number(d, std::numeric_limits<double>::quiet_NaN()),
                  value);
}

Expression is_negative(DefinitionBuilder& d, Expression x) {
  const Expression zero = number(d, 0);
  return d.select(x == zero, d.apply(F::reciprocal, x) < zero, x < zero);
}

/// `scaled` over 2^e, as long as it is at least 2, where e is at most 2^bits - 1; and e.
struct Halved {
  Expression rest, exponent;
};
Halved halved(DefinitionBuilder& d, Expression scaled, int bits) {
  Halved result{scaled, d.integer(0)};
  for (int i = bits - 1; i >= 0; --i) {
    const Expression large = number(d, std::ldexp(1, 1 << i)) <= result.rest;
    result.exponent = result.exponent + d.select(large, d.integer(1 << i), d.integer(0));
    result.rest = d.select(large, result.rest * number(d, std::ldexp(1, -(1 << i))), result.rest);
  }
  return result;
}

/// The code of a number. With the exponent e over the least one, the code of a magnitude is e * 2^mantissa_bits + the
/// magnitude in units of the last place: also for subnormal numbers, and where rounding carries into the exponent.
Expression code_of_float(DefinitionBuilder& d, Expression x, const Format& format, bool saturates) {
  const Expression magnitude = d.apply(F::absolute, x);
  const auto [rest, exponent] = halved(
      d, magnitude * number(d, std::ldexp(1, -format.least_exponent())), format.exponent_bits);
  const double ones = std::ldexp(1, format.mantissa_bits);
  const Expression units = minimum(d.apply(F::round, rest * number(d, ones)), number(d, 512));
  Expression code =
      exponent * d.integer(static_cast<std::int64_t>(ones)) + d.cast(units, DataType::i64);
  const int outside = saturates || (format.infinity < 0 && format.nan < 0) ? format.largest
                      : format.infinity >= 0                               ? format.infinity
                                                                           : format.nan;
  code = d.select(d.integer(format.largest) < code, d.integer(outside), code);
  Expression negative = is_negative(d, x);
  if (!format.signed_zero)
    negative = negative && d.integer(0) < code && code < d.integer(format.sign());
  code = d.select(negative, code + d.integer(format.sign()), code);
  return d.select(d.apply(F::is_nan, x), d.integer(format.of_nan), code);
}

/// The least power of two that is not below the magnitude.
Expression code_of_power(DefinitionBuilder& d, Expression x) {
  constexpr int bias = 127, largest = 254, nan = 255;
  const auto [rest, exponent] =
      halved(d, d.apply(F::absolute, x) * number(d, std::ldexp(1, bias)), 8);
  Expression code = exponent + d.select(number(d, 1) < rest, d.integer(1), d.integer(0));
  code = minimum(code, d.integer(largest));
  return d.select(d.apply(F::is_nan, x), d.integer(nan), code);
}

}  // namespace

bool is_narrow_integer(DataType type) {
  return type == DataType::u4 || type == DataType::i4 || type == DataType::u2 ||
         type == DataType::i2;
}

bool has_8_bit_float_range(DataType type) {
  return type == DataType::f8e4m3fn || type == DataType::f8e4m3fnuz || type == DataType::f8e5m2 ||
         type == DataType::f8e5m2fnuz;
}

double largest_number(DataType type) {
  switch (type) {
    case DataType::u4: return 15;
    case DataType::i4: return 7;
    case DataType::u2: return 3;
    case DataType::i2: return 1;
    case DataType::f8e8m0: return std::ldexp(1, 127);
    case DataType::f8e4m3fn: return 448;
    case DataType::f8e4m3fnuz: return 240;
    case DataType::f8e5m2:
    case DataType::f8e5m2fnuz: return 57344;
    default: return 6;
  }
}

double least_number(DataType type) {
  switch (type) {
    case DataType::u4:
    case DataType::u2: return 0;
    case DataType::i4: return -8;
    case DataType::i2: return -2;
    case DataType::f8e8m0: return std::ldexp(1, -127);
    default: return -largest_number(type);
  }
}

Expression number_of_code(DefinitionBuilder& d, Expression element) {
  const DataType type = element.type();
  const Expression code = d.cast(element, DataType::i64);
  if (type == DataType::f8e8m0) return number_of_exponent(d, code);
  if (!is_narrow_integer(type)) return number_of_float(d, code, format_of(type));
  if (type == DataType::u4 || type == DataType::u2) return code;
  const std::int64_t span = std::int64_t{1} << bits(type);
  return d.select(code < d.integer(span / 2), code, code - d.integer(span));
}

Expression code_of_number(DefinitionBuilder& d, Expression x, DataType type, bool saturates) {
  if (is_narrow_integer(type)) {
    const std::int64_t span = std::int64_t{1} << bits(type);
    return d.cast(d.floor_mod(d.cast(x, DataType::i64), Dimension(span)), type);
  }
  const Expression value = d.cast(x, DataType::f64);
  if (type == DataType::f8e8m0) return d.cast(code_of_power(d, value), type);
  return d.cast(code_of_float(d, value, format_of(type), saturates), type);
}

}  // namespace lemma::operators
