#include "egraph/exact/cost.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/number_text.h"

namespace lemma::exact {

namespace {

constexpr int most_digits = 34;
constexpr int total_digits = 36;

Cost power_of_ten(int exponent) {
  Cost result = 1;
  while (exponent-- > 0) result *= 10;
  return result;
}

Cost magnitude(Cost cost) { return cost < 0 ? -cost : cost; }

int digit_count(Cost value) {
  int count = 0;
  for (value = magnitude(value); value != 0; value /= 10) ++count;
  return count;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void drop_trailing_zeros(Decimal& decimal) {
  if (decimal.mantissa == 0) decimal.exponent = 0;
  while (decimal.mantissa != 0 && decimal.mantissa % 10 == 0) {
    decimal.mantissa /= 10;
    ++decimal.exponent;
  }
}

}  // namespace

std::optional<Decimal> parse_decimal(std::string_view text) {
  Decimal result;
  std::size_t at = 0;
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) ++at;
  int digits = 0;
  bool any = false, after_point = false;
  for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !after_point)); ++at) {
    if (text[at] == '.') {
      after_point = true;
      continue;
    }
    any = true;
    const int digit = text[at] - '0';
    if (digits == most_digits) {
      if (!after_point) ++result.exponent;
      if (digit != 0) result.rounded = true;
      continue;
    }
    result.mantissa = result.mantissa * 10 + digit;
    if (result.mantissa != 0) ++digits;
    if (after_point) --result.exponent;
  }
  if (!any) return std::nullopt;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    const bool down = at < text.size() && text[at] == '-';
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    if (at == text.size()) return std::nullopt;
    int exponent = 0;
    for (; at < text.size() && is_digit(text[at]); ++at)
      exponent = std::min(100000, exponent * 10 + (text[at] - '0'));
    result.exponent += down ? -exponent : exponent;
  }
  if (at != text.size()) return std::nullopt;
  if (negative) result.mantissa = -result.mantissa;
  drop_trailing_zeros(result);
  return result;
}

Decimal decimal_of(double value) {
  return parse_decimal(fmt::format("{}", value)).value_or(Decimal{});
}

std::string CostScale::text(Cost cost) const {
  std::string reversed;
  int position = 0;
  Cost rest = magnitude(cost);
  bool significant = false;
  while (rest != 0 || position <= digits) {
    const int digit = static_cast<int>(rest % 10);
    rest /= 10;
    significant = significant || digit != 0 || position >= digits;
    if (position == digits && !reversed.empty()) reversed.push_back('.');
    if (significant) reversed.push_back(static_cast<char>('0' + digit));
    ++position;
  }
  if (cost < 0) reversed.push_back('-');
  return {reversed.rbegin(), reversed.rend()};
}

double CostScale::value(Cost cost) const { return number_of<double>(text(cost)).value_or(0); }

bool is_prohibitive(const Decimal& cost) {
  constexpr int least_digits = 19;  // before the point
  return cost.mantissa > 0 && digit_count(cost.mantissa) + cost.exponent >= least_digits;
}

Result<ScaledCosts> scale_costs(const std::vector<Decimal>& costs) {
  int finest = 0;   // digits after the point that some cost has
  int highest = 0;  // digits before the point that the largest cost has
  for (const Decimal& cost : costs) {
    if (cost.mantissa == 0) continue;
    const int before_point = digit_count(cost.mantissa) + cost.exponent;
    if (before_point > 30) return bad_input("a cost is 10^30 or more");
    finest = std::max(finest, -cost.exponent);
    highest = std::max(highest, before_point);
  }
  const int room = total_digits - digit_count(static_cast<Cost>(costs.size()));
  if (highest > room) return bad_input("the sum of costs is too large");
  ScaledCosts result;
  result.scale.digits = std::min(finest, room - highest);
  for (const Decimal& cost : costs) {
    const int shift = cost.exponent + result.scale.digits;
    bool rounded = cost.rounded;
    if (shift >= 0 || cost.mantissa == 0) {
      result.costs.push_back(cost.mantissa * (cost.mantissa == 0 ? 1 : power_of_ten(shift)));
    } else if (-shift > most_digits + 2) {
      result.costs.push_back(0);
      rounded = true;
    } else {
      const Cost unit = power_of_ten(-shift);
      const Cost half = cost.mantissa < 0 ? -(unit / 2) : unit / 2;
      result.costs.push_back((cost.mantissa + half) / unit);
      rounded = true;
    }
    result.scale.rounded += rounded ? 1 : 0;
  }
  return result;
}

}  // namespace lemma::exact
