#include "operators/fraction.h"

#include <algorithm>
#include <cmath>

namespace lemma::operators {

namespace {

constexpr std::int64_t limit = std::int64_t{1} << 24;

bool rounds_to(std::int64_t numerator, std::int64_t denominator, float value) {
  return static_cast<float>(static_cast<double>(numerator) / static_cast<double>(denominator)) ==
         value;
}

/// Smallest t in [1, most] for which p(t)/q(t) = (a + t*b)/(c + t*d) rounds to the value; the
/// fractions approach it from one side, so that "rounds to it" holds from some t on.
std::int64_t least_step(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d,
                        std::int64_t most, float value) {
  std::int64_t low = 1, high = most;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (rounds_to(a + middle * b, c + middle * d, value))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

}  // namespace

std::optional<Fraction> simplest_fraction(double value) {
  const auto rounded = static_cast<float>(value);
  if (!std::isfinite(rounded) || std::abs(rounded) >= static_cast<float>(limit))
    return std::nullopt;
  if (rounded < 0) {
    auto positive = simplest_fraction(-value);
    if (positive) positive->numerator = -positive->numerator;
    return positive;
  }
  // Continued fraction of the stored number: convergents p/q, and between them the intermediate
  // fractions, among which the first that rounds to the number is the simplest.
  std::int64_t p0 = 0, q0 = 1, p1 = 1, q1 = 0;
  double rest = rounded;
  for (int step = 0; step < 64; ++step) {
    const auto whole = static_cast<std::int64_t>(std::min(std::floor(rest), 1e9));
    std::int64_t most = whole;
    if (p1 > 0) most = std::min(most, (limit - p0) / p1);
    if (q1 > 0) most = std::min(most, (limit - q0) / q1);
    const std::int64_t p = p0 + most * p1, q = q0 + most * q1;
    if (q > 0 && rounds_to(p, q, rounded)) {
      if (step == 0 || most <= 1) return Fraction{p, q};
      const std::int64_t t = least_step(p0, p1, q0, q1, most, rounded);
      return Fraction{p0 + t * p1, q0 + t * q1};
    }
    if (most < whole) return std::nullopt;
    p0 = p1;
    q0 = q1;
    p1 = p;
    q1 = q;
    rest = 1 / (rest - static_cast<double>(whole));
  }
  return std::nullopt;
}

}  // namespace lemma::operators
