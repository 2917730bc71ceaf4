#pragma once
// Integer expressions as constant + sum of coefficient * atom, so that most index arithmetic is
// done when a definition is compiled and not for every element.
//
// Arithmetic on constants and coefficients wraps at 64 bits, like that on index values, so that a
// form equals its expression also on overflow.

#include <cstdint>
#include <utility>
#include <vector>

namespace lemma::lowering {

/// Inclusive bounds; the extreme values mean that there is none.
struct Interval {
  std::int64_t low = INT64_MIN, high = INT64_MAX;
  bool is_known() const { return low != INT64_MIN && high != INT64_MAX; }
  bool within(std::int64_t least, std::int64_t greatest) const {
    return low >= least && high <= greatest;
  }
};
Interval add(Interval a, Interval b);
Interval scale(Interval a, std::int64_t factor);
Interval intersect(Interval a, Interval b);

/// A loop variable (a number below first_term_atom), or the value of a term.
using AtomId = std::uint32_t;
inline constexpr AtomId first_term_atom = 64;

struct Linear {
  std::int64_t constant = 0;
  std::vector<std::pair<AtomId, std::int64_t>> terms;  // ascending; coefficients are not 0

  static Linear of(std::int64_t value) { return {value, {}}; }
  static Linear atom(AtomId id) { return {0, {{id, 1}}}; }
  bool is_constant() const { return terms.empty(); }
  std::int64_t coefficient(AtomId id) const;
  friend bool operator==(const Linear&, const Linear&) = default;
};

/// a + factor * b
Linear combine(const Linear& a, const Linear& b, std::int64_t factor = 1);
Linear scale(const Linear& a, std::int64_t factor);

std::int64_t floor_divide(std::int64_t a, std::int64_t b);

}  // namespace lemma::lowering
