// In which directions, and where, the search uses a rule.

#include <algorithm>

#include <gtest/gtest.h>

#include "egraph/rule_use.h"
#include "ir/runtime_layout.h"
#include "rule_language/rule_database.h"
#include "rule_language/rule_roles.h"

namespace lemma {
namespace {

/// "=>" or "<=" for each use, with the inputs that must be weights and "!" where it saves something.
std::string uses(const std::string& text) {
  const auto rules = parse_substitutions(text, "rule");
  EXPECT_TRUE(rules) << (rules ? "" : rules.error().message);
  if (!rules) return "";
  std::string result;
  for (const RuleUse& use : uses_of(rules->front(), unit_costs(rules->front()))) {
    result += (result.empty() ? "" : " ") + std::string(use.backward ? "<=" : "=>");
    for (const RuleInput& input : use.rule.inputs)
      if (input.weight) result += input.name;
    if (use.saves) result += "!";
  }
  return result;
}

TEST(RuleUse, GoesFromDearToCheap) {
  EXPECT_EQ(uses("rule r\n  x : [n, k]\n  a : [k, m]\n  b : [k, m]\n"
                 "  Add(MatMul(x, a), MatMul(x, b)) = MatMul(x, Add(a, b))\n"),
            // Back, where one of the two products is known ahead of time.
            "=>! <=xa <=xb");
  EXPECT_EQ(uses("rule r\n  x : [A..]\n  Relu(Relu(x)) = Relu(x)\n"), "=>!");
}

TEST(RuleUse, GoesBothWaysWhereBothCostTheSame) {
  EXPECT_EQ(uses("rule r\n  x : [A..]\n  y : [A..]\n  Add(x, y) = Add(y, x)\n"), "=> <=");
  EXPECT_EQ(uses("rule r\n  x : [A..]\n  y : [A..]\n  z : [A..]\n"
                 "  Add(Add(x, y), z) = Add(x, Add(y, z))\n"),
            "=> <=");
}

/// Views are free, so that moving one costs nothing.
TEST(RuleUse, CountsNoViews) {
  EXPECT_EQ(uses("rule r\n  x : [n, k]\n  Unsqueeze{axes=[0]}(Relu(x)) = "
                 "Relu(Unsqueeze{axes=[0]}(x))\n"),
            "=> <=");
}

/// What is computed from the matrix alone is computed ahead of time if that is a weight.
TEST(RuleUse, ChoosesTheWeightsThatMakeItPay) {
  EXPECT_EQ(uses("rule r\n  x : [n, k]\n  a : [k, m]\n  s : [m]\n"
                 "  Mul(MatMul(x, a), s) => MatMul(x, Mul(Relu(a), s))\n"),
            "=>a");
  // Of two choices of equal size each is used.
  EXPECT_EQ(uses("rule r\n  x : [A..]\n  y : [A..]\n"
                 "  Max(x, y) => Max(Relu(x), Relu(y))\n"),
            "");
  EXPECT_EQ(uses("rule r\n  x : [A..]\n  y : [A..]\n"
                 "  Exp(Add(x, y)) => Mul(Exp(x), Exp(y))\n"),
            "=>x =>y");
}

TEST(RuleUse, LeavesMarksOfTheRuleAsTheyAre) {
  EXPECT_EQ(uses("rule r\n  x : [n, k]\n  weight a : [k, m]\n  weight b : [k, p]\n"
                 "  let both = Split{axis=-1, split=[m, p]}(MatMul(x, Concat{axis=-1}(a, b)))\n"
                 "  MatMul(x, a) & MatMul(x, b) => both#0 & both#1\n"),
            "=>ab!");
}

/// What makes more of less, whatever is a weight.
TEST(RuleUse, DoesNotUseWhatOnlyCosts) {
  EXPECT_EQ(uses("rule r\n  x : [A..]\n  Relu(x) => Relu(Relu(x))\n"), "");
}

/// A rule that the search cannot use would be of no use, but for a few of the basis that others are
/// derived from: what only brings two nodes together to part them again saves nothing.
TEST(RuleUse, NearlyEveryShippedRuleHasOne) {
  const auto rules = read_substitutions("rules/substitutions", ".rules");
  ASSERT_TRUE(rules);
  ASSERT_FALSE(rules->empty());
  // Rules about layouts have a search of their own (search/blocked_layout.h).
  const auto is_about_layout = [](const Substitution& rule) {
    return std::any_of(rule.terms.begin(), rule.terms.end(), [](const RuleTerm& term) {
      return !term.is_input && is_of_layout(record(term.op));
    });
  };
  std::size_t unused = 0;
  for (const Substitution& rule : *rules)
    if (!is_about_layout(rule) && !has_role(rule, RuleRole::partial) &&
        uses_of(rule, unit_costs(rule)).empty()) {
      ++unused;
      std::cout << rule.name << "\n";
    }
  EXPECT_LE(unused, 12U);
}

/// One that cannot be matched from left to right is used from right to left.
TEST(RuleUse, CompilesWhatCanBeMatched) {
  const auto rules = parse_substitutions("rule r\n  x : [A..]\n  x = Neg(Neg(x))\n", "rule");
  ASSERT_TRUE(rules) << rules.error().message;
  const auto compiled = compile_uses(*rules, {});
  ASSERT_TRUE(compiled) << compiled.error().message;
  ASSERT_EQ(compiled->rules.size(), 1U);
  EXPECT_TRUE(compiled->rules[0].backward);
  EXPECT_TRUE(compiled->saves[0]);
}

}  // namespace
}  // namespace lemma
