#include "facts/facts_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lemma::facts {
namespace {

constexpr double infinity = HUGE_VAL;
constexpr double largest = std::numeric_limits<double>::max();

// Bounds are rounded outwards unless they are exact, so that small integers stay what they are.

double below(double x) { return x == infinity ? largest : std::nextafter(x, -infinity); }

double add_down(double a, double b) {
  if (a == -infinity || b == -infinity) return -infinity;
  if (a == infinity || b == infinity) return infinity;
  const double sum = a + b, part = sum - a, error = (a - (sum - part)) + (b - part);
  return std::isfinite(sum) && error == 0 ? sum : below(sum);
}
double add_up(double a, double b) { return -add_down(-a, -b); }

/// Bounds of a product: 0 times anything is 0, since an infinite bound stands for numbers below it.
double multiply_down(double a, double b) {
  if (a == 0 || b == 0) return 0;
  const double product = a * b;
  if (std::isinf(a) || std::isinf(b)) return product;
  return std::isfinite(product) && std::fma(a, b, -product) == 0 && product != 0 ? product
                                                                                 : below(product);
}
double multiply_up(double a, double b) { return -multiply_down(-a, b); }

/// b is not 0.
double divide_down(double a, double b) {
  if (a == 0) return 0;
  if (std::isinf(b)) return std::isinf(a) ? -infinity : ((a < 0) == (b < 0) ? 0.0 : below(0.0));
  const double quotient = a / b;
  if (std::isinf(a)) return quotient;
  return std::isfinite(quotient) && std::fma(quotient, b, -a) == 0 && quotient != 0
             ? quotient
             : below(quotient);
}
double divide_up(double a, double b) { return -divide_down(-a, b); }

bool may_be_infinite(const ValueFacts& a) { return !a.finite(); }

/// Infinities lie within the bounds; integers have none.
ValueFacts tidy(ValueFacts a) {
  a.plus_infinity = a.plus_infinity && a.upper == infinity;
  a.minus_infinity = a.minus_infinity && a.lower == -infinity;
  a.lower += 0.0;  // no -0
  a.upper += 0.0;
  if (a.lower > 0 || a.upper < 0) a.nonzero = true;
  return a;
}

/// Beyond 64 bits an integer may be anything.
ValueFacts wrapped(ValueFacts a, bool integer) {
  constexpr double limit = 0x1p63;
  if (integer && !(a.lower >= -limit && a.upper < limit)) {
    a.lower = -limit;
    a.upper = 2 * limit;
    a.nonzero = false;
  }
  if (integer) a.plus_infinity = a.minus_infinity = false;
  return tidy(a);
}

ValueFacts negated(ValueFacts a) {
  const double lower = -a.upper;
  a.upper = -a.lower;
  a.lower = lower;
  std::swap(a.plus_infinity, a.minus_infinity);
  return tidy(a);
}

}  // namespace

ValueFacts number(double value) {
  ValueFacts result;
  result.defined = !std::isnan(value);
  result.plus_infinity = value == infinity;
  result.minus_infinity = value == -infinity;
  if (!result.defined) return result;
  result.lower = result.upper = value + 0.0;
  result.nonzero = value != 0;
  return result;
}

ValueFacts of_symbol(std::int64_t rank) {
  ValueFacts result = rank > 0 ? range(0, infinity) : range(-infinity, 0);
  result.nonzero = true;
  return result;
}

ValueFacts range(double lower, double upper) {
  ValueFacts result;
  result.defined = true;
  result.plus_infinity = result.minus_infinity = false;
  result.lower = lower;
  result.upper = upper;
  return tidy(result);
}

ValueFacts add(const ValueFacts& a, const ValueFacts& b, bool integer) {
  ValueFacts result;
  const bool cancels =
      (a.plus_infinity && b.minus_infinity) || (a.minus_infinity && b.plus_infinity);
  result.defined = a.defined && b.defined && !cancels;
  result.plus_infinity = a.plus_infinity || b.plus_infinity;
  result.minus_infinity = a.minus_infinity || b.minus_infinity;
  result.lower = add_down(a.lower, b.lower);
  result.upper = add_up(a.upper, b.upper);
  result.nonzero = (a.positive() && b.nonnegative()) || (b.positive() && a.nonnegative()) ||
                   (negated(a).positive() && b.upper <= 0) ||
                   (negated(b).positive() && a.upper <= 0);
  return wrapped(result, integer);
}

ValueFacts subtract(const ValueFacts& a, const ValueFacts& b, bool integer) {
  return add(a, negated(b), integer);
}

ValueFacts multiply(const ValueFacts& a, const ValueFacts& b, bool integer) {
  ValueFacts result;
  const bool cancels =
      (may_be_infinite(a) && b.may_be_zero()) || (may_be_infinite(b) && a.may_be_zero());
  result.defined = a.defined && b.defined && !cancels;
  result.plus_infinity = result.minus_infinity = may_be_infinite(a) || may_be_infinite(b);
  result.lower = std::min({multiply_down(a.lower, b.lower), multiply_down(a.lower, b.upper),
                           multiply_down(a.upper, b.lower), multiply_down(a.upper, b.upper)});
  result.upper = std::max({multiply_up(a.lower, b.lower), multiply_up(a.lower, b.upper),
                           multiply_up(a.upper, b.lower), multiply_up(a.upper, b.upper)});
  if (a.nonnegative() && b.nonnegative()) result.lower = std::max(result.lower, 0.0);
  result.nonzero = a.nonzero && b.nonzero;
  return wrapped(result, integer);
}

ValueFacts square(const ValueFacts& a, bool integer) {
  ValueFacts result = multiply(a, a, integer);
  if (integer && result.upper > 0x1p62) return result;  // may have wrapped
  result.lower = std::max(result.lower, 0.0);
  return tidy(result);
}

namespace {

/// a / b for a divisor on one side of 0, not counting what becomes of infinities.
void bound_quotient(const ValueFacts& a, const ValueFacts& b, ValueFacts& result) {
  if (!b.positive() && !negated(b).positive()) return;
  const double low = b.lower, high = b.upper;
  // Divisors come as near to 0 as they like: then the quotient is unbounded on the sides of a.
  const bool touches = low == 0 || high == 0;
  if (touches) {
    const bool keeps = b.lower >= 0;
    if (a.lower >= 0) (keeps ? result.lower : result.upper) = 0;
    if (a.upper <= 0) (keeps ? result.upper : result.lower) = 0;
    return;
  }
  result.lower = std::min({divide_down(a.lower, low), divide_down(a.lower, high),
                           divide_down(a.upper, low), divide_down(a.upper, high)});
  result.upper = std::max({divide_up(a.lower, low), divide_up(a.lower, high),
                           divide_up(a.upper, low), divide_up(a.upper, high)});
}

}  // namespace

ValueFacts divide(const ValueFacts& a, const ValueFacts& b, bool integer) {
  ValueFacts result;
  const bool both_infinite = may_be_infinite(a) && may_be_infinite(b);
  result.defined = a.defined && b.defined && !b.may_be_zero() && !both_infinite;
  if (integer) {
    // The least integer over -1 leaves 64 bits.
    result.defined = result.defined && (b.lower > -1 || a.lower > -0x1p63);
    if (a.nonnegative() && b.positive()) {
      result.lower = 0;
      result.upper = a.upper;
    }
    if (result.upper == infinity) result.lower = -0x1p63, result.upper = 0x1p64;
    return wrapped(result, true);
  }
  result.plus_infinity = result.minus_infinity = may_be_infinite(a) || b.may_be_zero();
  if (!b.may_be_zero()) bound_quotient(a, b, result);
  result.nonzero = a.nonzero && b.finite() && !b.may_be_zero();
  return tidy(result);
}

ValueFacts floor_divide(const ValueFacts& a, const ValueFacts& b) {
  ValueFacts result;
  result.defined = a.defined && b.defined && !b.may_be_zero() && a.lower > -0x1p63;
  result.lower = -0x1p63;
  result.upper = 0x1p63 - 1024;
  if (b.lower >= 1) {
    result.lower = a.lower >= 0 ? std::floor(a.lower / b.upper) : a.lower;
    result.upper = a.upper >= 0 ? std::floor(a.upper / b.lower) : 0;
    if (b.upper == infinity && a.lower >= 0) result.lower = 0;
  }
  return wrapped(result, true);
}

ValueFacts modulo(const ValueFacts& a, const ValueFacts& b, bool as_dividend, bool integer) {
  ValueFacts result;
  const bool finite = a.finite() && b.finite();
  result.defined = a.defined && b.defined && !b.may_be_zero() && finite;
  result.plus_infinity = result.minus_infinity = false;
  const double size = std::max(std::abs(b.lower), std::abs(b.upper)) - (integer ? 1 : 0);
  result.lower = as_dividend ? (a.lower >= 0 ? 0.0 : -size) : (b.lower >= 0 ? 0.0 : -size);
  result.upper = as_dividend ? (a.upper <= 0 ? 0.0 : size) : (b.upper <= 0 ? 0.0 : size);
  if (integer && !(size < 0x1p62)) result.lower = -0x1p63, result.upper = 0x1p64;
  return tidy(result);
}

ValueFacts power(const ValueFacts& a, const ValueFacts& b, bool integer) {
  ValueFacts result;
  const bool operands = a.defined && b.defined;
  if (integer) {
    result.defined = operands && (b.positive() || (b.nonnegative() && a.nonzero));
    result.lower = -0x1p63;
    result.upper = 0x1p64;
    return wrapped(result, true);
  }
  const bool known = b.lower == b.upper && std::isfinite(b.lower);
  const bool whole = known && b.lower == std::floor(b.lower);
  const bool even = whole && std::fmod(b.lower, 2) == 0;
  const bool has_value = a.positive() || (a.nonnegative() && b.positive()) ||
                         (whole && b.lower >= 1) || (whole && a.nonzero);
  result.defined = operands && has_value && a.finite() && b.finite();
  // 0 to a negative power is an infinity.
  const bool finite = a.finite() && b.finite() && (!a.may_be_zero() || b.nonnegative());
  result.plus_infinity = result.minus_infinity = !finite;
  if (a.nonnegative() || even) result.lower = 0;
  result.nonzero = !a.may_be_zero() && a.finite() && b.finite();
  return tidy(result);
}

ValueFacts minimum(const ValueFacts& a, const ValueFacts& b) {
  return negated(maximum(negated(a), negated(b)));
}

ValueFacts maximum(const ValueFacts& a, const ValueFacts& b) {
  ValueFacts result;
  result.defined = a.defined && b.defined;
  result.plus_infinity = a.plus_infinity || b.plus_infinity;
  result.minus_infinity = a.minus_infinity && b.minus_infinity;
  result.lower = std::max(a.lower, b.lower);
  result.upper = std::max(a.upper, b.upper);
  result.nonzero = (a.nonzero && b.nonzero) || a.positive() || b.positive();
  return tidy(result);
}

namespace {

/// Bounds of what a non-decreasing function of the library gives, which may be wrong in the last
/// digits.
double loose_down(double x) { return std::isfinite(x) ? below(x - 1e-14 * std::abs(x)) : x; }
double loose_up(double x) { return -loose_down(-x); }

struct Monotone {
  double (*function)(double);
  double lower, upper;  // of all values
  bool exact = false;
};

ValueFacts monotone(const ValueFacts& a, const Monotone& f) {
  ValueFacts result;
  result.defined = a.defined;
  const double low = f.function(a.lower), high = f.function(a.upper);
  result.lower = std::max(f.lower, f.exact ? low : loose_down(low));
  result.upper = std::min(f.upper, f.exact ? high : loose_up(high));
  if (a.nonnegative() && f.function(0) == 0) result.lower = std::max(result.lower, 0.0);
  if (a.upper <= 0 && f.function(0) == 0) result.upper = std::min(result.upper, 0.0);
  result.plus_infinity = a.plus_infinity;
  result.minus_infinity = a.minus_infinity;
  return tidy(result);
}

/// sin and cos.
ValueFacts wave(const ValueFacts& a) {
  ValueFacts result = range(-1, 1);
  result.defined = a.defined && a.finite();
  return result;
}

ValueFacts absolute(const ValueFacts& a) {
  ValueFacts result = maximum(a, negated(a));
  result.lower = std::max(result.lower, 0.0);
  result.nonzero = a.nonzero;
  result.minus_infinity = false;
  return tidy(result);
}

ValueFacts logarithm(const ValueFacts& a) {
  ValueFacts result = a;
  result.defined = a.defined && a.positive();
  result.lower = a.lower > 0 ? loose_down(std::log(a.lower)) : -infinity;
  result.upper = a.upper > 0 ? loose_up(std::log(a.upper)) : infinity;
  if (a.lower >= 1) result.lower = std::max(result.lower, 0.0);
  result.nonzero = a.lower > 1 || (a.upper < 1 && a.positive());
  result.minus_infinity = a.may_be_zero();
  return tidy(result);
}

ValueFacts root(const ValueFacts& a) {
  ValueFacts result = a;
  result.defined = a.defined && a.nonnegative();
  result.lower = a.lower > 0 ? std::max(0.0, loose_down(std::sqrt(a.lower))) : 0;
  result.upper = a.upper >= 0 ? loose_up(std::sqrt(a.upper)) : infinity;
  result.minus_infinity = false;
  return tidy(result);
}

ValueFacts sign(const ValueFacts& a) {
  ValueFacts result = range(a.nonnegative() ? 0 : -1, a.upper <= 0 ? 0 : 1);
  result.defined = a.defined;
  result.nonzero = a.nonzero;
  if (a.positive()) result.lower = 1;
  return tidy(result);
}

/// Defined between two limits only.
ValueFacts between(const ValueFacts& a, double lower, double upper, ValueFacts result) {
  result.defined = a.defined && a.lower >= lower && a.upper <= upper && a.finite();
  return result;
}

ValueFacts without_bounds(bool defined, bool infinite) {
  ValueFacts result;
  result.defined = defined;
  result.plus_infinity = result.minus_infinity = infinite;
  return result;
}

ValueFacts flag(bool defined) {
  ValueFacts result = range(0, 1);
  result.defined = defined;
  return result;
}

}  // namespace

ValueFacts apply(ScalarFunction function, const ValueFacts& a) {
  using Function = ScalarFunction;
  constexpr double half_turn = 3.1415926535897936;
  switch (function) {
    case Function::none: break;
    case Function::negate: return negated(a);
    case Function::absolute: return absolute(a);
    case Function::sign: return sign(a);
    case Function::floor:
      return monotone(a, {[](double x) { return std::floor(x); }, -infinity, infinity, true});
    case Function::ceil:
      return monotone(a, {[](double x) { return std::ceil(x); }, -infinity, infinity, true});
    case Function::round:
      return monotone(a, {[](double x) { return std::nearbyint(x); }, -infinity, infinity, true});
    case Function::exp: {
      ValueFacts result = monotone(a, {[](double x) { return std::exp(x); }, 0, infinity});
      result.nonzero = !a.minus_infinity;
      if (a.upper <= 0) result.upper = std::min(result.upper, 1.0);
      if (a.lower >= 0) result.lower = std::max(result.lower, 1.0);
      return tidy(result);
    }
    case Function::log: return logarithm(a);
    case Function::sqrt: return root(a);
    case Function::reciprocal: return divide(number(1), a, false);
    case Function::sin:
    case Function::cos: return wave(a);
    case Function::tan: return without_bounds(false, false);
    case Function::asin: return between(a, -1, 1, range(-half_turn, half_turn));
    case Function::acos: return between(a, -1, 1, range(0, half_turn));
    case Function::atan:
      return monotone(a, {[](double x) { return std::atan(x); }, -half_turn, half_turn});
    case Function::sinh:
      return monotone(a, {[](double x) { return std::sinh(x); }, -infinity, infinity});
    case Function::cosh: {
      ValueFacts result = without_bounds(a.defined, !a.finite());
      result.lower = 1;
      return tidy(result);
    }
    case Function::tanh: return monotone(a, {[](double x) { return std::tanh(x); }, -1, 1});
    case Function::asinh:
      return monotone(a, {[](double x) { return std::asinh(x); }, -infinity, infinity});
    case Function::acosh: {
      ValueFacts result = without_bounds(a.defined && a.lower >= 1, !a.finite());
      result.lower = 0;
      return tidy(result);
    }
    case Function::atanh: {
      const bool inside = a.lower > -1 && a.upper < 1;
      return without_bounds(a.defined && inside, !inside);
    }
    case Function::erf: return monotone(a, {[](double x) { return std::erf(x); }, -1, 1});
    // What is not a number is undefined: asked of what is defined and finite, the answer is no.
    case Function::is_nan: {
      ValueFacts result = flag(a.defined);
      if (a.defined) result.upper = 0;
      return result;
    }
    case Function::is_infinite: {
      ValueFacts result = flag(a.defined);
      if (a.defined && a.finite()) result.upper = 0;
      return result;
    }
  }
  return {};
}

ValueFacts sum(const ValueFacts& body, double least, double most, bool integer) {
  ValueFacts result = body;
  result.defined = body.defined && !(body.plus_infinity && body.minus_infinity);
  result.lower = multiply_down(body.lower, body.lower >= 0 ? least : most);
  result.upper = multiply_up(body.upper, body.upper <= 0 ? least : most);
  const bool one_sign = body.nonnegative() || body.upper <= 0;
  result.nonzero = least >= 1 && one_sign && body.nonzero;
  return wrapped(result, integer);
}

ValueFacts product(const ValueFacts& body, bool integer) {
  ValueFacts result;
  result.defined = body.defined && !(may_be_infinite(body) && body.may_be_zero());
  result.plus_infinity = result.minus_infinity = may_be_infinite(body);
  if (body.nonnegative()) result.lower = 0;
  if (body.lower >= 0 && body.upper <= 1) result.upper = 1;
  if (body.lower >= 1) result.lower = 1;
  result.nonzero = body.nonzero;
  if (integer) result.lower = -infinity, result.nonzero = false;
  return wrapped(result, integer);
}

}  // namespace lemma::facts
