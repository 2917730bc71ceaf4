#include "rule_language/rule_roles.h"

#include <gtest/gtest.h>

#include "rule_language/digests.h"

namespace lemma {
namespace {

std::vector<Substitution> parsed(std::string_view text) {
  auto result = parse_substitutions(text, "test.rules");
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : std::vector<Substitution>{};
}

std::string error_of(std::string_view text) {
  const auto result = parse_substitutions(text, "bad.rules");
  return result ? "no error" : result.error().message;
}

constexpr std::string_view with_a_role =
    "rule twice_negated\n"
    "  role recurrence_form, simplification\n"
    "  x : [A..]\n"
    "  Neg(Neg(x)) = x\n";

TEST(RuleRoles, AreReadAndWritten) {
  const Substitution rule = parsed(with_a_role)[0];
  EXPECT_EQ(rule.roles,
            (std::vector<RuleRole>{RuleRole::simplification, RuleRole::recurrence_form}));
  EXPECT_TRUE(has_role(rule, RuleRole::recurrence_form));
  EXPECT_FALSE(has_role(rule, RuleRole::general));
  EXPECT_EQ(text_with_roles(rule),
            "rule twice_negated\n"
            "  role simplification, recurrence_form\n"
            "  x : [A..]\n"
            "  Neg(Neg(x)) = x\n");
  Substitution again = parsed(text_with_roles(rule))[0];
  EXPECT_EQ(again, rule);
}

TEST(RuleRoles, AreNoPartOfTheClaim) {
  const Substitution rule = parsed(with_a_role)[0];
  Substitution other = rule;
  other.roles = {RuleRole::general};
  EXPECT_EQ(text(rule), text(other));
  EXPECT_EQ(text(rule).find("role"), std::string::npos);
  EXPECT_TRUE(parsed(text(rule))[0].roles.empty());
  EXPECT_EQ(Digests().of_substitution(rule), Digests().of_substitution(other));
}

TEST(RuleRoles, AnInputMayHaveTheName) {
  const Substitution rule = parsed("rule r\n  role : [A..]\n  Neg(Neg(role)) = role\n")[0];
  EXPECT_TRUE(rule.roles.empty());
  EXPECT_EQ(rule.inputs[0].name, "role");
}

TEST(RuleRoles, ErrorsSayWhatIsAllowed) {
  const std::string head = "rule r\n  x : [A..]\n", end = "  Neg(Neg(x)) = x\n";
  EXPECT_EQ(
      error_of(head + "  role merging\n" + end),
      "bad.rules:3: r: 'merging' is no role; roles are general, simplification, runtime, layout, "
      "partial, recurrence_form, recurrence, recurrence_results");
  EXPECT_EQ(error_of(head + "  role layout, layout\n" + end),
            "bad.rules:3: r: the role 'layout' is repeated");
  EXPECT_EQ(error_of(head + "  role layout\n  role general\n" + end),
            "bad.rules:4: r: the roles of the rule are stated already");
  EXPECT_EQ(error_of(head + "  role general, simplification\n" + end),
            "bad.rules:3: r: a rule with another role is not 'general'");
  EXPECT_EQ(error_of("axiom a\n  x : [A..]\n  role general\n" + end),
            "bad.rules:3: a: an axiom has no role");
}

TEST(RuleRoles, OperatorsOfARuntimeNeedIt) {
  const std::string silu = "rule r\n  x : [A..]\n", end = "  Mul(x, Sigmoid(x)) = Swish(x)\n";
  const Substitution unsaid = parsed(silu + end)[0];
  ASSERT_EQ(runtimes_of(unsaid), std::set<std::string_view>{"onnxruntime"});
  EXPECT_TRUE(has_role(with_roles({{unsaid}})[0], RuleRole::runtime));
  EXPECT_EQ(error_of(silu + "  role general\n" + end),
            "bad.rules:1: r: the rule is for onnxruntime alone, so that one of its roles has to be "
            "'runtime' or 'layout'");
  EXPECT_EQ(error_of(silu + "  role runtime\n  Neg(Neg(x)) = x\n"),
            "bad.rules:1: r: no operator of the rule is one that a runtime alone has, so that its "
            "role cannot be 'runtime'");
  EXPECT_EQ(error_of(silu + "  role runtime\n" + end), "no error");
}

TEST(RuleRoles, WhatIsStatedStaysAndTheRestIsInferred) {
  const auto rules = with_roles(parsed(R"(
rule stated
  role general
  x : [A..]
  Neg(Neg(x)) = x

rule simplifies
  x : [A..]
  Neg(Neg(x)) = x

rule exchanges
  x : [A..]
  y : [A..]
  Add(x, y) = Add(y, x)
)"));
  EXPECT_EQ(rules[0].roles, std::vector<RuleRole>{RuleRole::general});
  EXPECT_EQ(rules[1].roles, std::vector<RuleRole>{RuleRole::simplification});
  EXPECT_EQ(rules[2].roles, std::vector<RuleRole>{RuleRole::general});
}

}  // namespace
}  // namespace lemma
