// Dimensions against brute force: random expressions are built as Dimensions and, independently, as
// trees that are evaluated in 128-bit integers for many values of the symbols.

#include "ir/dimension.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace lemma {
namespace {

constexpr unsigned seed = 20240917;
const std::array<std::string, 3> symbols = {"N", "M", "K"};
using Point = std::array<std::int64_t, 3>;

DimensionBindings bindings_of(const Point& point) {
  DimensionBindings bindings;
  for (std::size_t i = 0; i < symbols.size(); ++i) bindings.emplace(symbols[i], point[i]);
  return bindings;
}

struct Tree {
  enum class Kind { constant, symbol, add, subtract, multiply, floor_div, floor_mod, min, max };
  Kind kind = Kind::constant;
  std::int64_t value = 0;  // constant
  std::size_t symbol = 0;  // symbol
  std::vector<Tree> children;

  bool has_extremum() const {
    if (kind == Kind::min || kind == Kind::max) return true;
    return std::any_of(children.begin(), children.end(),
                       [](const Tree& child) { return child.has_extremum(); });
  }

  Dimension build() const {
    if (kind == Kind::constant) return value;
    if (kind == Kind::symbol) return Dimension::symbol(symbols[symbol]);
    const Dimension a = children[0].build(), b = children[1].build();
    switch (kind) {
      case Kind::add: return a + b;
      case Kind::subtract: return a - b;
      case Kind::multiply: return a * b;
      case Kind::floor_div: return floor_div(a, b);
      case Kind::floor_mod: return floor_mod(a, b);
      case Kind::min: return minimum(a, b);
      default: return maximum(a, b);
    }
  }

  /// Nothing where a divisor is zero.
  std::optional<__int128> evaluate(const Point& point) const {
    if (kind == Kind::constant) return value;
    if (kind == Kind::symbol) return point[symbol];
    const auto a = children[0].evaluate(point), b = children[1].evaluate(point);
    if (!a || !b) return std::nullopt;
    switch (kind) {
      case Kind::add: return *a + *b;
      case Kind::subtract: return *a - *b;
      case Kind::multiply: return *a * *b;
      case Kind::min: return *a < *b ? *a : *b;
      case Kind::max: return *a < *b ? *b : *a;
      default: break;
    }
    if (*b == 0) return std::nullopt;
    __int128 remainder = *a % *b;
    if (remainder != 0 && (remainder < 0) != (*b < 0)) remainder += *b;
    return kind == Kind::floor_mod ? remainder : (*a - remainder) / *b;
  }
};

class DimensionProperties : public testing::Test {
 protected:
  static void SetUpTestSuite() { std::cout << "seed " << seed << '\n'; }

  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  Tree leaf() {
    if (integer(0, 2) == 0) return {Tree::Kind::constant, integer(-6, 6), 0, {}};
    return {Tree::Kind::symbol, 0, static_cast<std::size_t>(integer(0, 2)), {}};
  }

  /// `last`: the greatest kind that may occur.
  Tree tree(int depth, Tree::Kind last = Tree::Kind::max) {
    if (depth == 0 || integer(0, 5) == 0) return leaf();
    const auto kind =
        static_cast<Tree::Kind>(integer(static_cast<int>(Tree::Kind::add), static_cast<int>(last)));
    Tree result{kind, 0, 0, {tree(depth - 1, last), tree(depth - 1, last)}};
    // Mostly the divisors that models have.
    const bool division = kind == Tree::Kind::floor_div || kind == Tree::Kind::floor_mod;
    if (division && integer(0, 3) != 0)
      result.children[1] = {Tree::Kind::constant, integer(-4, 8), 0, {}};
    return result;
  }

  /// A random valid dimension; polynomials only, or with floors and extrema.
  Dimension dimension(int depth, Tree::Kind last = Tree::Kind::max) {
    while (true)
      if (Dimension result = tree(depth, last).build(); result.is_valid()) return result;
  }

  Point point(std::int64_t low, std::int64_t high) {
    return {integer(low, high), integer(low, high), integer(low, high)};
  }

  std::mt19937_64 random_{seed};
};

void expect_same(const Dimension& a, const Dimension& b) {
  EXPECT_EQ(a, b) << a.text() << " and " << b.text();
  EXPECT_EQ(a.hash(), b.hash()) << a.text();
  EXPECT_EQ(a <=> b, std::strong_ordering::equal);
  EXPECT_EQ(a.text(), b.text());
}

TEST_F(DimensionProperties, ring_laws) {
  for (int i = 0; i < 2000; ++i) {
    const Dimension a = dimension(2), b = dimension(2), c = dimension(2);
    SCOPED_TRACE(a.text() + " | " + b.text() + " | " + c.text());
    expect_same(a + b, b + a);
    expect_same(a * b, b * a);
    expect_same((a + b) + c, a + (b + c));
    expect_same((a * b) * c, a * (b * c));
    expect_same(a * (b + c), a * b + a * c);
    expect_same(a - b, a + Dimension(-1) * b);
    expect_same(a - a, 0);
    expect_same(a + 0, a);
    expect_same(a * 1, a);
    expect_same(a * 0, 0);
    if (HasFailure()) return;
  }
}

TEST_F(DimensionProperties, values_agree_with_brute_force) {
  int compared = 0;
  for (int i = 0; i < 6000; ++i) {
    const Tree expression = tree(4);
    const Dimension built = expression.build();
    const std::int64_t low = expression.has_extremum() ? 0 : -7;
    for (int j = 0; j < 12; ++j) {
      const Point where = point(low, 9);
      const auto expected = expression.evaluate(where);
      if (!expected) continue;
      if (!built.is_valid()) {
        ADD_FAILURE() << "invalid, but has the value " << static_cast<std::int64_t>(*expected);
        return;
      }
      const Dimension value = substitute(built, bindings_of(where));
      ASSERT_TRUE(value.is(static_cast<std::int64_t>(*expected)))
          << built.text() << " at " << where[0] << ", " << where[1] << ", " << where[2] << " is "
          << static_cast<std::int64_t>(*expected) << ", not " << value.text();
      ++compared;
    }
  }
  EXPECT_GT(compared, 30000);
}

TEST_F(DimensionProperties, text_reads_back) {
  for (int i = 0; i < 5000; ++i) {
    const Dimension original = dimension(4);
    const auto read = parse_dimension(original.text());
    ASSERT_TRUE(read) << read.error().message;
    expect_same(*read, original);
    if (HasFailure()) return;
  }
}

TEST_F(DimensionProperties, substitution_composes) {
  // Substituting symbols first and values later is substituting the values of what was substituted.
  for (int i = 0; i < 2000; ++i) {
    const Tree outer = tree(3, Tree::Kind::floor_mod), inner = tree(2, Tree::Kind::floor_mod);
    const Dimension outer_built = outer.build(), inner_built = inner.build();
    if (!outer_built.is_valid() || !inner_built.is_valid()) continue;
    Point where = point(-7, 9);
    const auto inner_value = inner.evaluate(where);
    if (!inner_value) continue;
    const Dimension at_once =
        substitute(substitute(outer_built, {{"N", inner_built}}), bindings_of(where));
    where[0] = static_cast<std::int64_t>(*inner_value);
    const auto expected = outer.evaluate(where);
    if (!expected) continue;
    ASSERT_TRUE(at_once.is(static_cast<std::int64_t>(*expected)))
        << outer_built.text() << " with N = " << inner_built.text();
  }
}

TEST_F(DimensionProperties, order_is_total_and_agrees_with_equality) {
  for (int i = 0; i < 3000; ++i) {
    const Dimension a = dimension(3), b = dimension(3), c = dimension(3);
    EXPECT_EQ(a == b, (a <=> b) == 0);
    EXPECT_EQ((a <=> b) < 0, (b <=> a) > 0);
    if (a < b && b < c) {
      EXPECT_LT(a, c);
    }
    if (a == b) {
      EXPECT_EQ(a.hash(), b.hash());
    }
    EXPECT_EQ(a == b, a.text() == b.text()) << a.text() << " and " << b.text();
  }
}

TEST_F(DimensionProperties, exact_division_of_products) {
  for (int i = 0; i < 3000; ++i) {
    const Dimension a = dimension(3, Tree::Kind::multiply), b = dimension(3, Tree::Kind::multiply);
    if (b.is(0)) {
      EXPECT_FALSE(exact_div(a, b));
      continue;
    }
    const auto quotient = exact_div(a * b, b);
    ASSERT_TRUE(quotient) << a.text() << " times " << b.text();
    expect_same(*quotient, a);
    expect_same(floor_div(a * b, b), a);
    expect_same(floor_mod(a * b, b), 0);
    if (!b.is(1) && !b.is(-1)) {
      EXPECT_FALSE(exact_div(a * b + 1, b)) << a.text() << " times " << b.text();
    }
    if (HasFailure()) return;
  }
}

TEST_F(DimensionProperties, remainder_completes_the_quotient) {
  for (int i = 0; i < 3000; ++i) {
    const Dimension a = dimension(3), b = dimension(2);
    if (b.is(0)) continue;
    expect_same(b * floor_div(a, b) + floor_mod(a, b), a);
    if (HasFailure()) return;
  }
}

TEST_F(DimensionProperties, lower_bounds_hold) {
  int bounded = 0;
  for (int i = 0; i < 6000; ++i) {
    const Tree expression = tree(4);
    const Dimension built = expression.build();
    const auto low = lower_bound(built);
    bounded += low.has_value() ? 1 : 0;
    for (int j = 0; j < 12 && low; ++j) {
      const Point where = point(0, j < 6 ? 3 : 40);
      const auto value = expression.evaluate(where);
      if (!value) continue;
      ASSERT_GE(*value, *low) << built.text();
    }
  }
  EXPECT_GT(bounded, 1000);
}

Dimension read(std::string_view text) {
  auto result = parse_dimension(text);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : Dimension::invalid();
}

TEST(Dimension, canonical_text) {
  EXPECT_EQ(read("1 + N*2 + 0").text(), "2*N + 1");
  EXPECT_EQ(read("(N + 1)*(N - 1)").text(), "N*N - 1");
  EXPECT_EQ(read("M*N - N*M").text(), "0");
  EXPECT_EQ(read("-(N - M)").text(), "M - N");
  EXPECT_EQ(read("--N").text(), "N");
  EXPECT_EQ(read("-2*floordiv(N - 1, 2)").text(), "-2*floordiv(N + 1, 2) + 2");
}

TEST(Dimension, floors_have_one_form) {
  EXPECT_EQ(read("floordiv(2*N + 3, 2)").text(), "N + 1");
  EXPECT_EQ(read("floordiv(5*N - 1, 2)").text(), "2*N + floordiv(N + 1, 2) - 1");
  EXPECT_EQ(read("floordiv(2*N + 3, 4)").text(), "floordiv(N + 1, 2)");
  EXPECT_EQ(read("floordiv(floordiv(N + 1, 2) + 1, 2)").text(), "floordiv(N + 3, 4)");
  EXPECT_EQ(read("floordiv(N, -2)").text(), "floordiv(-N, 2)");
  EXPECT_EQ(read("floordiv(N*M + N, M + 1)").text(), "N");
}

TEST(Dimension, extrema_are_decided_where_they_can_be) {
  EXPECT_EQ(read("max(N + 1, N)").text(), "N + 1");
  EXPECT_EQ(read("min(2*N, N)").text(), "N");
  EXPECT_EQ(read("max(0, N)").text(), "N");
  EXPECT_EQ(read("max(1, N)").text(), "max(1, N)");
  EXPECT_EQ(read("max(N, 1)"), read("max(1, N)"));
  EXPECT_EQ(read("min(max(N, 2), 1)").text(), "1");
}

TEST(Dimension, atoms_that_were_built_apart_are_equal) {
  const Dimension a = floor_div(Dimension::symbol("N") + 1, 2) * Dimension::symbol("M");
  const Dimension b = Dimension::symbol("M") * floor_div(1 + Dimension::symbol("N"), 2);
  expect_same(a, b);
  expect_same(a - b, 0);
  EXPECT_FALSE(a == b + 1);
  EXPECT_FALSE(floor_div(a, 3) == floor_div(a, 5));
}

TEST(Dimension, names_that_are_not_plain_are_quoted) {
  for (const char* name : {"batch size", "N+1", "2N", "", "invalid", "a\"b\\c", "x]", "ü,(", "*"}) {
    const Dimension symbol = Dimension::symbol(name);
    EXPECT_EQ(symbol.text().front(), '"') << name;
    expect_same(read(symbol.text()), symbol);
    expect_same(read((symbol * 2 + 1).text()), symbol * 2 + 1);
  }
  EXPECT_EQ(Dimension::symbol("unk__12.a'").text(), "unk__12.a'");
  EXPECT_EQ(Dimension::symbol("min").text(), "min");
  EXPECT_EQ(read("min*max"), Dimension::symbol("min") * Dimension::symbol("max"));
}

TEST(Dimension, extreme_integers) {
  const Dimension least(INT64_MIN), greatest(INT64_MAX), n = Dimension::symbol("N");
  for (const Dimension& d : {least, greatest, n + least, n - greatest, n * least, n * greatest,
                             n * n * least - n * greatest + least, floor_div(n + least, 3),
                             floor_div(n * least, 3), floor_div(n * least + least, -1)})
    expect_same(read(d.text()), d);
  EXPECT_EQ(floor_div(least, 3), Dimension(-3074457345618258603));
  EXPECT_EQ(floor_mod(least, 3), Dimension(1));
  EXPECT_EQ(substitute(floor_div(n + least, 3), {{"N", 3}}), Dimension(-3074457345618258602));
  EXPECT_FALSE(floor_div(least, -1).is_valid());
  EXPECT_FALSE(exact_div(least, -1));
  EXPECT_EQ(least - least, Dimension(0));
  EXPECT_EQ(Dimension(-1) - least, greatest);
  EXPECT_EQ(n * least - n * least, Dimension(0));
  EXPECT_EQ(exact_div(least, least), Dimension(1));
  EXPECT_EQ(greatest + least, Dimension(-1));
}

TEST(Dimension, sums_do_not_depend_on_the_order_of_their_terms) {
  // The coefficients of N*M in the product are INT64_MAX, 1 and -1 in some order.
  const Dimension n = Dimension::symbol("N"), m = Dimension::symbol("M");
  const Dimension a = n * INT64_MAX + m, b = m + n;
  const Dimension first = (a - m * 2) * b, second = b * (a - m * 2);
  EXPECT_EQ(first.is_valid(), second.is_valid());
  expect_same(first, second);
}

TEST(Dimension, overflow_is_invalid_and_stays_so) {
  const Dimension n = Dimension::symbol("N");
  for (const Dimension& bad :
       {Dimension(INT64_MAX) + 1, Dimension(INT64_MIN) - 1, Dimension(INT64_MAX) * 2,
        n * INT64_MAX + n, n * (std::int64_t{1} << 40) * (std::int64_t{1} << 40), floor_div(n, 0),
        floor_mod(n, 0), Dimension::invalid()}) {
    EXPECT_FALSE(bad.is_valid());
    EXPECT_FALSE(bad.is_constant());
    EXPECT_FALSE(bad.constant());
    EXPECT_FALSE(bad.is(0));
    EXPECT_FALSE(bad.as_symbol());
    EXPECT_EQ(bad, Dimension::invalid());
    EXPECT_EQ(bad.hash(), Dimension::invalid().hash());
    for (const Dimension& other : {Dimension(0), Dimension(1), n, n * n - 1}) {
      for (const Dimension& result :
           {bad + other, other + bad, bad - other, other - bad, bad * other, other * bad,
            floor_div(bad, other), floor_div(other, bad), floor_mod(bad, other),
            floor_mod(other, bad), minimum(bad, other), minimum(other, bad), maximum(bad, other),
            maximum(other, bad)})
        EXPECT_FALSE(result.is_valid()) << result.text() << " with " << other.text();
      EXPECT_FALSE(exact_div(bad, other));
      EXPECT_FALSE(exact_div(other, bad));
      EXPECT_NE(bad, other);
    }
    EXPECT_FALSE(lower_bound(bad));
    EXPECT_FALSE(substitute(bad, {{"N", 1}}).is_valid());
    EXPECT_FALSE(substitute(n + 1, {{"N", bad}}).is_valid());
    EXPECT_FALSE(element_count({n, bad, 0}).is_valid());
  }
}

TEST(Dimension, growth_is_bounded) {
  // Each step uses its argument twice: without a limit the tree would double 200 times.
  Dimension nested = Dimension::symbol("N"), power = Dimension::symbol("N");
  for (int i = 0; i < 200; ++i) {
    nested = minimum(nested * 3 + 1, floor_div(nested, Dimension::symbol("M")) + nested);
    power = power * power;
  }
  EXPECT_FALSE(nested.is_valid());
  EXPECT_FALSE(power.is_valid());
  Dimension sum;
  for (int i = 0; i < 2000; ++i) sum = sum + Dimension::symbol("s" + std::to_string(i));
  EXPECT_FALSE(sum.is_valid());
}

TEST(Dimension, deep_nesting_within_the_limits_reads_back) {
  Dimension nested = Dimension::symbol("N");
  Dimension deepest = nested;
  while (nested.is_valid()) {
    deepest = nested;
    nested = floor_div(nested * 3 + 1, Dimension::symbol("M"));
  }
  expect_same(read(deepest.text()), deepest);
}

TEST(Dimension, large_polynomials_are_compared_and_divided) {
  Dimension forward, backward;
  for (int i = 0; i < 15; ++i) forward = forward + Dimension::symbol("s" + std::to_string(i));
  for (int i = 15; i-- > 0;) backward = Dimension::symbol("s" + std::to_string(i)) + backward;
  const Dimension a = forward * forward, b = backward * forward;
  ASSERT_TRUE(a.is_valid());
  EXPECT_EQ(a.terms().size(), 120U);
  expect_same(a, b);
  EXPECT_EQ(exact_div(a, backward), forward);
  const Dimension many = a + 1;
  EXPECT_EQ(exact_div(many * Dimension::symbol("N"), Dimension::symbol("N")), many);
  std::set<Dimension> distinct;
  for (int i = 0; i < 2000; ++i) distinct.insert(a + i % 7);
  EXPECT_EQ(distinct.size(), 7U);
}

TEST(Dimension, products_that_are_too_large_agree_both_ways) {
  const Dimension n = Dimension::symbol("N");
  Dimension many;
  for (int i = 0; i < 100; ++i) many = many + Dimension::symbol("s" + std::to_string(i));
  EXPECT_FALSE((many * many).is_valid());
  EXPECT_EQ((many * n).terms().size(), 100U);
}

TEST(Dimension, malformed_text_is_refused) {
  for (const char* text : {"",
                           " ",
                           "N +",
                           "+ N",
                           "N M",
                           "2N",
                           "2 3",
                           "(N",
                           "N)",
                           "min(N)",
                           "min(N,)",
                           "min(,N)",
                           "foo(N, 1)",
                           "9223372036854775808",
                           "-9223372036854775809",
                           "99999999999999999999999",
                           "9223372036854775807 + 1",
                           "9223372036854775807*2*N",
                           "floordiv(N, 0)",
                           "invalid",
                           "\"N",
                           "\"N\\\"",
                           "\"\\x0\"",
                           "\"\\q\"",
                           "N/2",
                           "N%2",
                           "-",
                           "N\n",
                           "1.5",
                           "N@"}) {
    const auto result = parse_dimension(text);
    EXPECT_FALSE(result) << text << " reads as " << result->text();
    if (!result) {
      EXPECT_EQ(result.error().kind, ErrorKind::bad_input);
    }
  }
  EXPECT_FALSE(parse_dimension(std::string(100000, '(')));
  EXPECT_FALSE(parse_dimension(std::string(100000, '-')));
  std::string nested = "N";
  for (int i = 0; i < 1000; ++i) nested = "min(" + nested + ", 1)";
  EXPECT_FALSE(parse_dimension(nested));
}

TEST(Dimension, errors_name_text_and_column) {
  EXPECT_EQ(parse_dimension("N + ?").error().message,
            "dimension 'N + ?': expected a dimension at column 5");
}

TEST(Dimension, symbols_are_collected_also_inside_atoms) {
  std::map<std::string, int> counts;
  collect_symbols(read("N*N + floordiv(M + N, 2) + max(K, 3)"), counts);
  EXPECT_EQ(counts, (std::map<std::string, int>{{"K", 1}, {"M", 1}, {"N", 3}}));
}

TEST(Dimension, as_symbol) {
  EXPECT_EQ(Dimension::symbol("N").as_symbol(), "N");
  for (const char* text : {"N + 1", "2*N", "N*M", "N + M", "3", "floordiv(N, 2)"})
    EXPECT_FALSE(read(text).as_symbol()) << text;
}

TEST(Shape, element_counts) {
  const Dimension n = Dimension::symbol("N");
  EXPECT_EQ(element_count({}), Dimension(1));
  EXPECT_EQ(element_count({2, n, 3}), n * 6);
  EXPECT_FALSE(element_count({INT64_MAX, 2}).is_valid());
  EXPECT_EQ(element_count({INT64_MAX, 2, 0}), Dimension(0));
  EXPECT_EQ(constant_sizes({2, 3}), (std::vector<std::int64_t>{2, 3}));
  EXPECT_FALSE(constant_sizes({2, n}));
  EXPECT_FALSE(constant_sizes({2, Dimension::invalid()}));
  EXPECT_EQ(text(Shape{1, n, n * 2}), "[1, N, 2*N]");
  EXPECT_EQ(text(Shape{}), "[]");
}

}  // namespace
}  // namespace lemma
