#pragma once
// Scale factors as fractions. Files store them rounded to f32. The simplest fraction that rounds to
// the stored number is taken as the intended value (2/3 for 0.6666667), so that sizes and positions
// are exact.

#include <cstdint>
#include <optional>

namespace lemma::operators {

struct Fraction {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;
};

/// The fraction with the least denominator that is `value` in f32; nothing if there is none with
/// numerator and denominator below 2^24.
std::optional<Fraction> simplest_fraction(double value);

}  // namespace lemma::operators
