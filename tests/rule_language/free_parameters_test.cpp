// Free parameters of rules: how they are written, and the values that matching gives them.

#include "rule_language/free_parameters.h"

#include <gtest/gtest.h>

#include "ir/attribute_conversion.h"
#include "rule_language/rule_cases.h"
#include "rule_language/substitution_analysis.h"

namespace lemma {
namespace {

Substitution rule_of(std::string_view text) {
  auto rules = parse_substitutions(text, "test.rules");
  EXPECT_TRUE(rules) << rules.error().message;
  return rules && !rules->empty() ? std::move(rules->front()) : Substitution{};
}

std::string error_of(std::string_view text) {
  const auto rules = parse_substitutions(text, "bad.rules");
  return rules ? "" : rules.error().message;
}

/// `free` is the line about k, or empty.
std::string rows(std::string_view free, std::string_view more = "") {
  return "rule rows\n  x : [k*m, c]\n  w : [c, n]\n" + std::string(free) + std::string(more) +
         "  MatMul(x, w) => Reshape{shape=[k*m, n]}(MatMul(Reshape{shape=[k, m, c]}(x), w))\n";
}

/// A parameter that is in no shape.
std::string copies(std::string_view lines) {
  return "rule copies\n  x : [A..]\n" + std::string(lines) +
         "  let t1 = Relu(x)\n"
         "  t1 => ReduceMax{axes=[0], keepdims=0}(Expand{shape=[k, A..]}(t1))\n";
}

TEST(FreeParameters, AreWrittenAsTheyWereRead) {
  for (const char* line :
       {"  free k : 2, 4, 8\n", "  free k : 3\n", "  free k : target\n",
        "  free k : divisors of k*m\n", "  free k : at most 3 divisors of k*m\n",
        "  free k : divisors of c\n", "  free k : divisors of c + n\n", "  free k + 1 : 2, 4\n",
        "  free 2*k - 1 : 3, 7\n", "  free m : 64\n", "  free m : 8\n  where k != 3\n"}) {
    const std::string written = rows(line);
    const Substitution rule = rule_of(written);
    EXPECT_EQ(text(rule), written);
    EXPECT_TRUE(detail::takes_free_values(rule)) << written;
  }
  EXPECT_EQ(text(rule_of(rows("  free k : at most 8 divisors of k*m\n"))),
            rows("  free k : divisors of k*m\n"));
}

TEST(FreeParameters, AreDimensionsIfNothingElseDeclaresThem) {
  const std::string canonical = copies("  param k : dimension\n  free k : 2, 4\n");
  EXPECT_EQ(text(rule_of(copies("  free k : 2, 4\n"))), canonical);
  EXPECT_EQ(text(rule_of(canonical)), canonical);
  const Substitution early = rule_of("rule early\n  free k : 2\n" + rows("").substr(10));
  EXPECT_TRUE(early.parameters.empty());
  EXPECT_EQ(rule_of(text(early)).free, early.free);
}

TEST(FreeParameters, ErrorsNameTheLineAndWhatIsWrong) {
  const std::pair<std::string, std::string> cases[] = {
      {rows("  free k : 0\n"), "4: rows: expected a whole number from 1 on, found '0'"},
      {rows("  free k : 2, -4\n"), "4: rows: expected a whole number from 1 on, found '-'"},
      {rows("  free k : 2, 2.0\n"), "4: rows: expected a whole number from 1 on, found '2.0'"},
      {rows("  free k : 99999999999999999999\n"),
       "4: rows: expected a whole number from 1 on, found '99999999999999999999'"},
      {rows("  free k : 2, 4, 2\n"), "4: rows: the value 2 is written twice"},
      {rows("  free k :\n"),
       "4: rows: expected a whole number from 1 on, found the end of the line"},
      {rows("  free k 2\n"), "4: rows: expected ':', found '2'"},
      {rows("  free k : 2 4\n"), "4: rows: unexpected '4'"},
      {rows("  free k : divisors k*m\n"), "4: rows: expected 'of', found 'k'"},
      {rows("  free k : at 3 divisors of k*m\n"), "4: rows: expected 'most', found '3'"},
      {rows("  free k : at most 0 divisors of k*m\n"),
       "4: rows: expected a whole number from 1 on, found '0'"},
      {rows("  free k*m : 8\n"),
       "4: rows: 'k*m' cannot be free: expected one variable, such as 'k' or 'k + 1', or 'len(A)'"},
      {rows("  free len(k) : 8\n"), "4: rows: 'len(k)' cannot be free: 'k' is no group"},
      {rows("  free len(k) + 1 : 8\n"),
       "4: rows: 'len(k) + 1' cannot be free: expected one variable, such as 'k' or 'k + 1', or "
       "'len(A)'"},
      {rows("  free k : any\n"), "4: rows: 'k' cannot take any value: it is no integer of a range"},
      {copies("  free k : 2\n  free len(A) : any\n"),
       "1: copies: 'A' need not be free: the side that is matched binds it"},
      {rows("  free k : 2\n", "  free k : 4\n"), "5: rows: 'k' is free already"},
      {rows("  free x : 2\n"), "4: rows: 'x' cannot be free: it is no dimension or integer"},
      {copies("  free A : 2\n"), "3: copies: 'A' cannot be free: it is no dimension or integer"},
      {copies("  param k : real\n  free k : 2\n"),
       "4: copies: 'k' cannot be free: it is no dimension or integer"},
      {rows("  free q : 2\n"), "1: rows: free parameter 'q' is not used"},
      {rows("  free c : 2\n"), "1: rows: 'c' need not be free: the side that is matched binds it"},
      {rows("  free k : divisors of q\n"), "1: rows: 'q' is not a variable"},
      {rows("  free k : divisors of m\n"),
       "1: rows: the size 'm', whose divisors 'k' takes, is not bound by the side that is matched"},
      {rows(""),
       "1: rows: variable 'k' (attribute 'shape') is not bound by the side that is matched"},
      {copies("  param k : dimension\n"),
       "1: copies: variable 'k' (attribute 'shape') is not bound by the side that is matched"},
      {"axiom a\n  x : [A..]\n  free k : 2\n  Relu(x) => Reshape{shape=[k]}(x)\n",
       "3: a: an axiom says something of all values: 'k' cannot be free"},
  };
  for (const auto& [text, expected] : cases)
    EXPECT_EQ(error_of(text), "bad.rules:" + expected) << text;
}

TEST(FreeParameters, OfAnEquationMayBeOpenInOneDirectionOnly) {
  std::string equation = rows("  free k : 2\n");
  equation.replace(equation.find("=>"), 2, "=");
  const Substitution rule = rule_of(equation);
  EXPECT_TRUE(detail::takes_free_values(rule));
  EXPECT_FALSE(detail::takes_free_values(reversed(rule)));
}

TEST(FreeParameters, AreOrdinarySymbolsInProofs) {
  for (const char* line :
       {"  free k : 2\n", "  free k : target\n", "  free k : divisors of k*m\n"}) {
    const auto cases = required_cases(rule_of(rows(line)));
    ASSERT_TRUE(cases);
    ASSERT_EQ(cases->size(), 1U);
    EXPECT_EQ(cases->front().bindings.dimensions.at("k"), Dimension::symbol("k"));
  }
  const auto cases = required_cases(rule_of(copies("  free k : 2\n  group A : 1..1\n")));
  ASSERT_TRUE(cases);
  EXPECT_EQ(cases->front().bindings.parameters.at("k"), AttributeValue(Dimension::symbol("k")));
}

// ---- Values -----------------------------------------------------------------------------------

using Values = std::vector<std::int64_t>;

TEST(Divisors, AreThoseOfAllValuesOfSymbols) {
  const Dimension n = Dimension::symbol("n");
  EXPECT_EQ(divisors_of_size(Dimension(12), 8), (Values{2, 3, 4, 6, 12}));
  EXPECT_EQ(divisors_of_size(Dimension(12), 2), (Values{2, 3}));
  EXPECT_EQ(divisors_of_size(Dimension(7), 8), Values{7});
  EXPECT_EQ(divisors_of_size(Dimension(1), 8), Values{});
  EXPECT_EQ(divisors_of_size(Dimension(0), 8), Values{});
  EXPECT_EQ(divisors_of_size(Dimension(-6), 8), Values{});
  EXPECT_EQ(divisors_of_size(n, 8), Values{});
  EXPECT_EQ(divisors_of_size(n * 6 + 4, 8), Values{2});
  EXPECT_EQ(divisors_of_size(n * n * 4, 8), (Values{2, 4}));
  EXPECT_EQ(divisors_of_size(Dimension(2 * 257), 8),
            Values{2});  // 257 is larger than is looked for
}

/// The values of the variables in each way to apply a rule with the left side MatMul(x, w).
std::vector<Values> ways(const Substitution& rule, const Shape& x, const Shape& w,
                         std::vector<std::string> names, const Values& target = {}) {
  const TensorType types[] = {{DataType::f32, x}, {DataType::f32, w}};
  const TensorType* const inputs[] = {&types[0], &types[1]};
  const Attributes none;
  const MatchedNode nodes[] = {{rule.left[0], &none, types}};
  std::vector<Values> result;
  for (const RuleBindings& bindings : bind_freely(rule, inputs, nodes, target)) {
    Values values;
    for (const std::string& name : names) {
      const auto parameter = bindings.parameters.find(name);
      const Dimension value = parameter == bindings.parameters.end()
                                  ? bindings.dimensions.at(name)
                                  : *to_dimension(parameter->second);
      values.push_back(value.constant().value_or(-1));
    }
    result.push_back(std::move(values));
  }
  return result;
}

using Ways = std::vector<Values>;

TEST(FreeParameters, TakeTheValuesThatFit) {
  const auto k_and_m = [](std::string_view line, std::int64_t size, const Values& target = {}) {
    return ways(rule_of(rows(line)), {size, 5}, {5, 7}, {"k", "m"}, target);
  };
  EXPECT_EQ(k_and_m("  free k : 2, 4, 3\n", 12), (Ways{{2, 6}, {4, 3}, {3, 4}}));
  EXPECT_EQ(k_and_m("  free k : 2, 4, 8\n", 6), (Ways{{2, 3}}));
  EXPECT_EQ(k_and_m("  free k : 2, 4, 8\n", 7), Ways{});
  EXPECT_EQ(k_and_m("  free k : divisors of k*m\n", 6), (Ways{{2, 3}, {3, 2}, {6, 1}}));
  EXPECT_EQ(k_and_m("  free k : at most 1 divisors of k*m\n", 6), (Ways{{2, 3}}));
  EXPECT_EQ(k_and_m("  free k : target\n", 6), Ways{});
  EXPECT_EQ(k_and_m("  free k : target\n", 6, {6, 4, 2}), (Ways{{6, 1}, {2, 3}}));
  EXPECT_EQ(k_and_m("  free k + 1 : 2, 3\n", 6), (Ways{{1, 6}, {2, 3}}));
  EXPECT_EQ(k_and_m("  free k - 4 : 2\n", 6), (Ways{{6, 1}}));
  EXPECT_EQ(k_and_m("  free k + 5 : 2, 6\n", 6), (Ways{{1, 6}}));  // not with k = -3
  // No rows: the parts are empty, and the rule says so of any number of them.
  EXPECT_EQ(k_and_m("  free k : 2\n", 0), (Ways{{2, 0}}));
  EXPECT_EQ(k_and_m("  free k : divisors of k*m\n", 0), Ways{});
}

TEST(FreeParameters, HaveToMeetTheConditions) {
  EXPECT_EQ(
      ways(rule_of(rows("  free k : 2, 3, 4, 6\n", "  where k < m\n")), {12, 5}, {5, 7}, {"k"}),
      (Ways{{2}, {3}}));
  EXPECT_EQ(ways(rule_of(rows("  free k : 2, 3, 4\n", "  where k != 3\n")), {12, 5}, {5, 7}, {"k"}),
            (Ways{{2}, {4}}));
}

TEST(FreeParameters, CutSizesInTwo) {
  const Substitution cut = rule_of(
      "rule cut\n  x : [m + l, c]\n  w : [c, n]\n  free m : 4, 6, 9\n  MatMul(x, w) => "
      "Concat{axis=0}(MatMul(Slice{axes=[0], ends=[m], starts=[0]}(x), w), "
      "MatMul(Slice{axes=[0], ends=[m + l], starts=[m]}(x), w))\n");
  EXPECT_EQ(ways(cut, {6, 5}, {5, 7}, {"m", "l"}), (Ways{{4, 2}, {6, 0}}));
}

TEST(FreeParameters, AreChosenOneAfterTheOther) {
  const std::string two =
      "rule two\n  x : [k*l*m, c]\n  w : [c, n]\n  free k : 2, 3\n  free l : divisors of k*l*m\n"
      "  MatMul(x, w) => Reshape{shape=[k*l*m, n]}(MatMul(Reshape{shape=[k*l, m, c]}(x), w))\n";
  EXPECT_EQ(ways(rule_of(two), {12, 5}, {5, 7}, {"k", "l", "m"}),
            (Ways{{2, 2, 3}, {2, 3, 2}, {2, 6, 1}, {3, 2, 2}, {3, 4, 1}}));
}

TEST(FreeParameters, MayBeAxes) {
  const std::string text =
      "rule copied\n  x : [A..]\n  w : [B..]\n  group A : 2..3\n  group B : 2..2\n"
      "  param i : integer[0, len(A) + 1)\n  free i : 1, 2, 7\n"
      "  MatMul(x, w) => MatMul(Squeeze{axes=[i]}(Unsqueeze{axes=[i]}(x)), w)\n";
  EXPECT_EQ(ways(rule_of(text), {4, 5}, {5, 7}, {"i"}), (Ways{{1}, {2}}));
  std::string any = text;
  any.replace(any.find("1, 2, 7"), 7, "any");
  EXPECT_EQ(ways(rule_of(any), {4, 5}, {5, 7}, {"i"}), (Ways{{0}, {1}, {2}}));
  any.replace(any.find("[0, len(A) + 1)"), 15, "[9223372036854775806, 9223372036854775807)");
  EXPECT_TRUE(ways(rule_of(any), {4, 5}, {5, 7}, {"i"}).size() <= 1U);
}

/// An axis of any place is divided; `perm` brings the parts to the front.
std::string parts_of_any_axis(const std::string& free) {
  const std::string perm = "insert(remove(range(0, len(A) + len(C) + 2), len(A)), 0, len(A))";
  return "rule any_axis\n  x : [A.., k*n, C..]\n  group A : 0..2\n  group C : 0..2\n" + free +
         "  Relu(Transpose{perm=" + perm +
         "}(Reshape{shape=[A.., k, n, C..]}(x)))\n    => Transpose{perm=" + perm +
         "}(Reshape{shape=[A.., k, n, C..]}(Relu(x)))\n";
}

TEST(FreeParameters, MayBeLengthsOfGroups) {
  const std::string without =
      "bad.rules:1: any_axis: variable 'A' (attribute 'shape') is not bound by "
      "the side that is matched";
  EXPECT_EQ(error_of(parts_of_any_axis("")), without);
  const Substitution rule = rule_of(parts_of_any_axis("  free len(A) : any\n"));
  EXPECT_NE(text(rule).find("\n  free len(A) : any\n"), std::string::npos);
  EXPECT_EQ(rule_of(text(rule)), rule_of(parts_of_any_axis("  free len(A) : any\n")));
  const TensorType x{DataType::f32, Shape{3, 4, 10}}, apart{DataType::f32, Shape{3, 4, 2, 5}},
      parts{DataType::f32, Shape{2, 3, 4, 5}};
  Attributes none, reshape, transpose;
  reshape.set("shape", Shape{3, 4, 2, 5});
  transpose.set("perm", Integers{2, 0, 1, 3});
  const TermId relu = rule.left[0], moved = rule.terms[relu.v].operands[0],
               divided = rule.terms[moved.v].operands[0];
  const TensorType* const inputs[] = {&x};
  const auto complete = [&](TermId term, Attributes& attributes, const TensorType& operand) {
    attributes = *complete_attributes(record(rule.terms[term.v].op), {&operand, 1}, attributes, 1);
  };
  complete(divided, reshape, x);
  complete(moved, transpose, apart);
  const auto bound = [&](const Attributes& perm) {
    const MatchedNode nodes[] = {
        {relu, &none, {&parts, 1}}, {moved, &perm, {&apart, 1}}, {divided, &reshape, {&x, 1}}};
    return bind_freely(rule, inputs, nodes, {});
  };
  const auto found = bound(transpose);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].groups.at("A"), (Shape{3, 4}));
  EXPECT_EQ(found[0].groups.at("C"), Shape{});
  EXPECT_EQ(found[0].dimensions.at("k"), Dimension(2));
  Attributes other;
  other.set("perm", Integers{2, 1, 0, 3});
  complete(moved, other, apart);
  EXPECT_TRUE(bound(other).empty());
}

TEST(FreeParameters, AreBounded) {
  std::string line = "  free k : 2";
  for (int i = 3; i <= 40; ++i) line += ", " + std::to_string(i);
  // Every number divides the number of no rows.
  const Ways found = ways(rule_of(rows(line + "\n")), {0, 5}, {5, 7}, {"k"});
  ASSERT_EQ(found.size(), most_free_ways);
  EXPECT_EQ(found.back(), Values{17});
}

TEST(FreeParameters, OfOtherRulesChangeNothing) {
  const Substitution plain =
      rule_of("rule p\n  x : [m, c]\n  w : [c, n]\n  MatMul(x, w) => MatMul(x, w)\n");
  EXPECT_FALSE(detail::takes_free_values(plain));
  EXPECT_EQ(ways(plain, {6, 5}, {5, 7}, {"m"}), (Ways{{6}}));
}

}  // namespace
}  // namespace lemma
