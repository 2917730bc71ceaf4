#pragma once
// The elements with the first ranks of an order. The interpreter uses it, and generated source includes this file, which needs
// only the standard library.

#include <cstdint>
#include <type_traits>
#include <utility>

namespace lemma::lowering {

/// In the order in which NaN is above all numbers.
template <typename T>
constexpr bool is_above(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return b < a || (a != a && b == b);
  else
    return b < a;
}

/// Positions of elements in the order of their ranks: by value, the largest or the smallest first, and equal ones, as NaN are,
/// by position.
template <bool takes_largest, typename Element, typename Place>
class RankSelection {
 public:
  using Value = decltype(std::declval<const Element&>()(std::int64_t{0}));

  /// `element(position)` is a value, and `place(rank)` points to where the position of that rank goes.
  RankSelection(const Element& element, const Place& place) : element_(element), place_(place) {}

  /// The first `count` ranks of `length` elements.
  void run(std::int64_t length, std::int64_t count) {
    if (count == 0) return;
    for (std::int64_t rank = 0; rank < count; ++rank) *place_(rank) = rank;
    for (std::int64_t root = count / 2; root-- > 0;) sink(root, count, *place_(root));
    take_others(length, count);
    // The first place always has the last one of those that are left.
    for (std::int64_t end = count - 1; end > 0; --end) {
      const std::int64_t last = *place_(end);
      *place_(end) = *place_(0);
      sink(0, end, last);
    }
  }

 private:
  static bool is_ahead(Value a, Value b) { return takes_largest ? is_above(a, b) : is_above(b, a); }

  bool comes_before(std::int64_t a, std::int64_t b) const {
    const Value x = element_(a), y = element_(b);
    return is_ahead(x, y) || (!is_ahead(y, x) && a < b);
  }

  /// Puts a position into a heap whose first place is free: each place comes after those below it.
  void sink(std::int64_t at, std::int64_t count, std::int64_t position) const {
    while (2 * at + 1 < count) {
      std::int64_t below = 2 * at + 1;
      if (below + 1 < count && comes_before(*place_(below), *place_(below + 1))) ++below;
      if (!comes_before(position, *place_(below))) break;
      *place_(at) = *place_(below);
      at = below;
    }
    *place_(at) = position;
  }

  /// Elements that are ahead of the last one of the heap take its place. Most are not, and many are compared at once.
  void take_others(std::int64_t length, std::int64_t count) const {
    constexpr std::int64_t block = 64;
    std::int64_t next = count;
    Value last = element_(*place_(0));
    while (next < length) {
      const std::int64_t end = length - next < block ? length : next + block;
      bool is_any_ahead = end - next < block;
      if (!is_any_ahead) {
        unsigned ahead = 0;
        for (std::int64_t i = 0; i < block; ++i)
          ahead |= static_cast<unsigned>(is_ahead(element_(next + i), last));
        is_any_ahead = ahead != 0;
      }
      for (; is_any_ahead && next < end; ++next)
        if (is_ahead(element_(next), last)) {
          sink(0, count, next);
          last = element_(*place_(0));
        }
      next = end;
    }
  }

  const Element& element_;
  const Place& place_;
};

/// The positions of the first `count` ranks of `length` elements.
template <bool takes_largest, typename Element, typename Place>
void select_by_rank(std::int64_t length, std::int64_t count, const Element& element,
                    const Place& place) {
  RankSelection<takes_largest, Element, Place>(element, place).run(length, count);
}

}  // namespace lemma::lowering
