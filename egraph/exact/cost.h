#pragma once
// Costs as integers: the decimal text of a file, scaled by a power of ten. Sums and comparisons are
// exact then, and "optimal" means optimal.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lemma::exact {

/// Large enough for sums of costs with 17 digits after the point; see scale_costs().
__extension__ using Cost = __int128;

inline constexpr Cost no_cost_limit = static_cast<Cost>(1) << 125;

/// mantissa * 10^exponent, without trailing zeros in the mantissa.
struct Decimal {
  Cost mantissa = 0;
  int exponent = 0;
  /// Digits beyond the 34th were dropped.
  bool rounded = false;
};

/// A JSON number; nothing for other text.
std::optional<Decimal> parse_decimal(std::string_view text);
/// The shortest decimal that reads as this double. Requires a finite value.
Decimal decimal_of(double value);

/// 10^18 or more: people write such a cost for what is never to be chosen.
bool is_prohibitive(const Decimal& cost);

/// One grid for all costs.
struct CostScale {
  /// A Cost of 1 stands for 10^-digits.
  int digits = 0;
  /// How many costs were rounded to the grid; each is off by at most half of 10^-digits.
  std::size_t rounded = 0;

  /// Decimal text, exact.
  std::string text(Cost cost) const;
  double value(Cost cost) const;
};

struct ScaledCosts {
  std::vector<Cost> costs;
  CostScale scale;
};

/// The finest grid on which the sum of all magnitudes stays below 10^36: with it all costs are exact
/// unless they span more than that. An error if costs are too large.
Result<ScaledCosts> scale_costs(const std::vector<Decimal>& costs);

}  // namespace lemma::exact
