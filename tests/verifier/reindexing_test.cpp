// Other variables for reductions: whatever the sizes, 0 and 1 among them, what is added up is the same.

#include <gtest/gtest.h>

#include "verifier/index/equality.h"
#include "verifier/index/refutation.h"
#include "verifier/index/reindexing.h"
#include "verifier/index/renaming.h"
#include "verifier/index/term_equality.h"

namespace lemma::verifier::index {
namespace {

Dimension parsed(std::string_view text) {
  auto value = parse_dimension(text);
  EXPECT_TRUE(value) << text;
  return *value;
}

struct Sum {
  std::vector<std::pair<std::string, std::string>> bound;  // names and extents
  std::vector<std::string> natural, zero;                  // conditions
  std::vector<std::vector<std::string>> reads;             // indices of x0, x1, ...
};

Term term_of(const Sum& sum) {
  Term term;
  for (const auto& [name, extent] : sum.bound) term.bound.push_back({name, parsed(extent)});
  std::vector<Formula> conditions;
  for (const std::string& text : sum.natural) conditions.push_back(is_nonnegative(parsed(text)));
  for (const std::string& text : sum.zero) conditions.push_back(is_zero(parsed(text)));
  term.domain = conjunction(std::move(conditions));
  for (std::size_t input = 0; input < sum.reads.size(); ++input) {
    std::vector<Dimension> indices;
    for (const std::string& text : sum.reads[input]) indices.push_back(parsed(text));
    term.factors.push_back(
        read(static_cast<std::uint32_t>(input), std::move(indices)).terms[0].factors[0]);
  }
  return finished(std::move(term));
}

/// For all sizes from `least` to 3.
void expect_same_sums(const Term& a, const Term& b, std::int64_t least) {
  for (std::int64_t m = least; m <= 3; ++m)
    for (std::int64_t n = least; n <= 3; ++n)
      for (std::int64_t s = 1; s <= 3; ++s) {
        const DimensionBindings sizes = {{"m", m}, {"n", n}, {"s", s}};
        const Polynomial left = polynomial({substitute(a, sizes)}),
                         right = polynomial({substitute(b, sizes)});
        EXPECT_FALSE(differ_by_sample(left, right, {}))
            << a.text << "\n"
            << b.text << "\nm=" << m << " n=" << n << " s=" << s;
      }
}

struct Line {
  Sum sum;
  std::size_t variables;  // in normal form
};

TEST(NormalVariables, LeaveEverySumAsItIs) {
  const Line table[] = {
      // Joined, split, and neither.
      {{{{"_u", "m"}, {"_w", "n"}}, {}, {}, {{"n*_u + _w"}}}, 1},
      {{{{"_u", "m"}, {"_w", "n"}}, {}, {}, {{"n*_u + _w"}, {"_w"}}}, 2},
      {{{{"_u", "m"}, {"_w", "n"}}, {}, {}, {{"m*_w + _u"}, {"n*_u + _w"}}}, 2},
      {{{{"_v", "m*n"}}, {}, {}, {{"floordiv(_v, n)"}, {"_v - n*floordiv(_v, n)"}}}, 2},
      {{{{"_v", "m*n"}}, {}, {}, {{"_v"}, {"floordiv(_v, n)"}}}, 2},
      {{{{"_v", "m*n"}}, {"_v - 1"}, {}, {{"floordiv(_v, n)"}}}, 2},
      {{{{"_v", "m*n"}}, {}, {}, {{"_v"}}}, 1},
      {{{{"_t", "s"}, {"_u", "m"}, {"_w", "n"}}, {}, {}, {{"m*n*_t + n*_u + _w"}}}, 1},
      // Congruences.
      {{{{"_k", "m"}, {"_y", "n"}},
        {"m - 1 - floordiv(_y - _k, s)", "floordiv(_y - _k, s)"},
        {"_y - _k - s*floordiv(_y - _k, s)"},
        {{"floordiv(_y - _k, s)"}, {"_k"}}},
       2},
      // One value.
      {{{{"_q", "m"}}, {"3 - 2*_q", "2*_q - 2"}, {}, {{"_q"}}}, 0},
  };
  for (const Line& line : table) {
    const Term term = term_of(line.sum);
    const Term normal = with_normal_variables(term, {});
    EXPECT_EQ(normal.bound.size(), line.variables) << term.text << "\n" << normal.text;
    const bool divides = term.text.find("floordiv") != std::string::npos;
    expect_same_sums(term, normal, divides ? 1 : 0);
  }
}

TEST(NormalVariables, ExtentsThatMayBeNegativeAreLeftAlone) {
  // For m = n = 0 the product of both extents is 1, and there is no u and no w.
  const Term term = term_of({{{"_u", "m - 1"}, {"_w", "n - 1"}}, {}, {}, {{"(n - 1)*_u + _w"}}});
  EXPECT_EQ(with_normal_variables(term, {}).bound.size(), 2U);
}

TEST(Ranges, DecideQuotients) {
  Ranges ranges;
  ranges.add(std::vector<Bound>{{"_u", parsed("m")}, {"_w", parsed("n")}, {"_v", parsed("m*n")}});
  const std::pair<const char*, const char*> table[] = {
      {"floordiv(n*_u + _w, n)", "_u"},
      {"floordiv(n*_u + _w, m*n)", "0"},
      {"floordiv(_w, n)", "0"},
      {"floordiv(_w + 1, n)", "floordiv(_w + 1, n)"},
      {"floordiv(_v, n)", "floordiv(_v, n)"},
      {"floordiv(n*_u + _w, n*s)", "floordiv(_u, s)"},
      {"floordiv(n*_u + _w - n, n)", "_u - 1"},
      {"floordiv(m*_u + _w, m)", "_u + floordiv(_w, m)"},
  };
  for (const auto& [value, expected] : table)
    EXPECT_EQ(ranges.simplified(parsed(value)).text(), parsed(expected).text()) << value;
}

Formula in_range(const std::string& name, const std::string& extent) {
  return less(Dimension::symbol(name), parsed(extent));
}

struct Pair {
  Sum a, b;
  bool equal;
};

TEST(EqualTerms, RenameVariablesByABijectionOnly) {
  const Pair table[] = {
      // Triangular: v = u + e.
      {{{{"_u", "m"}, {"_e", "n"}}, {}, {}, {{"_u + _e"}, {"_u"}}},
       {{{"_v", "m + n"}, {"_f", "n"}}, {"_v - _f", "m - 1 - _v + _f"}, {}, {{"_v"}, {"_v - _f"}}},
       true},
      // Not all of the range, one too many, two too few.
      {{{{"_u", "m"}, {"_e", "n"}}, {}, {}, {{"_u + _e"}, {"_u"}}},
       {{{"_v", "m + n"}, {"_f", "n"}}, {"_v - _f", "m - _v + _f"}, {}, {{"_v"}, {"_v - _f"}}},
       false},
      {{{{"_u", "m"}, {"_e", "n"}}, {}, {}, {{"_u + _e"}, {"_u"}}},
       {{{"_v", "m + n - 2"}, {"_f", "n"}},
        {"_v - _f", "m - 1 - _v + _f"},
        {},
        {{"_v"}, {"_v - _f"}}},
       false},
      // A map that is not onto: the even ones.
      {{{{"_u", "m"}}, {}, {}, {{"2*_u"}}}, {{{"_v", "2*m"}}, {}, {}, {{"_v"}}}, false},
      // Factors of one kind in another order.
      {{{{"_u", "m"}, {"_e", "m"}}, {}, {}, {{"_u"}, {"_e"}}},
       {{{"_v", "m"}, {"_f", "m"}}, {}, {}, {{"_f"}, {"_v"}}},
       true},
      {{{{"_u", "m"}, {"_e", "m"}}, {}, {}, {{"_u"}, {"_e"}}},
       {{{"_v", "m"}, {"_f", "m"}}, {}, {}, {{"_v"}, {"_v"}}},
       false},
  };
  for (const Pair& line : table) {
    const Term a = term_of(line.a), b = term_of(line.b);
    EXPECT_EQ(equal_terms(a, b, {}), line.equal) << a.text << "\n" << b.text;
    EXPECT_EQ(equal_terms(b, a, {}), line.equal) << b.text << "\n" << a.text;
  }
}

TEST(Merged, UnitesSumsOverPartsOfADomain) {
  const Term whole = term_of({{{"_u", "m + n"}}, {}, {}, {{"_u"}}}),
             first = term_of({{{"_v", "m"}}, {}, {}, {{"_v"}}}),
             second = term_of({{{"_w", "n"}}, {}, {}, {{"_w + m"}}}),
             overlapping = term_of({{{"_w", "n + 1"}}, {}, {}, {{"_w + m - 1"}}});
  const auto difference = [](const Term& a, std::vector<Term> parts) {
    for (Term& part : parts) part.coefficient = -1;
    parts.push_back(a);
    return merged(polynomial(std::move(parts)), {});
  };
  EXPECT_TRUE(difference(whole, {first, second}).terms.empty());
  EXPECT_FALSE(difference(whole, {first}).terms.empty());
  EXPECT_FALSE(difference(whole, {first, first}).terms.empty());
  EXPECT_FALSE(difference(whole, {first, overlapping}).terms.empty());
}

TEST(Refutation, SaysNothingOfWhatHolds) {
  const std::vector<Formula> facts = {in_range("_i", "n")};
  EXPECT_TRUE(is_refuted_by_sample(facts, in_range("_i", "n - 1")));
  EXPECT_FALSE(is_refuted_by_sample(facts, less(0, parsed("n"))));
  EXPECT_FALSE(is_refuted_by_sample({never()}, never()));
  const Polynomial x = read(0, {parsed("_i")}), y = read(0, {parsed("_i + 1")});
  EXPECT_TRUE(differ_by_sample(x, y, facts));
  EXPECT_FALSE(differ_by_sample(multiply(x, y), multiply(y, x), facts));
  EXPECT_FALSE(differ_by_sample(add(x, y), add(y, x), {never()}));
}

}  // namespace
}  // namespace lemma::verifier::index
