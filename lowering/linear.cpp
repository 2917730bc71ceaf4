#include "lowering/linear.h"

#include <algorithm>

namespace lemma::lowering {

namespace {

std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t wrapping_multiply(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

}  // namespace

// Beyond these bounds a sum might wrap, and then nothing is known.
constexpr std::int64_t bound_limit = std::int64_t{1} << 61;

Interval add(Interval a, Interval b) {
  if (!a.is_known() || !b.is_known()) return {};
  const Interval sum = {wrapping_add(a.low, b.low), wrapping_add(a.high, b.high)};
  if (a.within(-bound_limit, bound_limit) && b.within(-bound_limit, bound_limit)) return sum;
  return {};
}

Interval scale(Interval a, std::int64_t factor) {
  if (!a.is_known()) return factor == 0 ? Interval{0, 0} : Interval{};
  std::int64_t x = 0, y = 0;
  if (__builtin_mul_overflow(a.low, factor, &x) || __builtin_mul_overflow(a.high, factor, &y))
    return {};
  return {std::min(x, y), std::max(x, y)};
}

Interval intersect(Interval a, Interval b) {
  return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

std::int64_t Linear::coefficient(AtomId id) const {
  for (const auto& [atom, factor] : terms)
    if (atom == id) return factor;
  return 0;
}

Linear combine(const Linear& a, const Linear& b, std::int64_t factor) {
  Linear result;
  result.constant = wrapping_add(a.constant, wrapping_multiply(b.constant, factor));
  std::size_t i = 0, j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    const bool left =
        j == b.terms.size() || (i < a.terms.size() && a.terms[i].first <= b.terms[j].first);
    const bool right =
        i == a.terms.size() || (j < b.terms.size() && b.terms[j].first <= a.terms[i].first);
    const AtomId atom = left ? a.terms[i].first : b.terms[j].first;
    std::int64_t sum = 0;
    if (left) sum = a.terms[i++].second;
    if (right) sum = wrapping_add(sum, wrapping_multiply(b.terms[j++].second, factor));
    if (sum != 0) result.terms.emplace_back(atom, sum);
  }
  return result;
}

Linear scale(const Linear& a, std::int64_t factor) { return combine({}, a, factor); }

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

}  // namespace lemma::lowering
