// Rules from text become rules of the search only by proof, or by saying that they have none.

#include <type_traits>

#include <gtest/gtest.h>

#include "verifier/prove_rules.h"

namespace lemma::verifier {
namespace {

// No other way than loading, proving and saying that there is no proof.
static_assert(!std::is_constructible_v<RuleDatabase, std::vector<Substitution>>);
static_assert(
    !std::is_constructible_v<RuleDatabase, std::vector<Substitution>, std::vector<RoundingClass>>);

std::vector<Substitution> parsed(std::string_view text) {
  auto rules = parse_substitutions(text, "test.rules");
  EXPECT_TRUE(rules) << (rules ? "" : rules.error().message);
  return rules ? std::move(*rules) : std::vector<Substitution>{};
}

TEST(ProveRules, TrueRulesAreProved) {
  const auto rules = prove_rules(parsed("rule neg_neg_of_sum\n  x : [A..]\n  y : [A..]\n"
                                        "  Neg(Add(Neg(x), y)) = Sub(x, y)\n"),
                                 "rules", 2);
  ASSERT_TRUE(rules) << rules.error().message;
  ASSERT_EQ(rules->substitutions().size(), 1U);
  EXPECT_TRUE(rules->unproved().empty());
  EXPECT_EQ(rules->rounding().size(), 1U);
}

TEST(ProveRules, FalseRulesAreRefused) {
  const auto rules = prove_rules(parsed("rule no_sign\n  a : [A..]\n  Neg(a) => a\n"), "rules", 2);
  ASSERT_FALSE(rules);
  EXPECT_TRUE(rules.error().message.starts_with("rule 'no_sign' is not proved: refuted"))
      << rules.error().message;
}

TEST(ProveRules, RulesThatHoldUnderConditionsOnlyAreRefused) {
  const auto rules = prove_rules(
      parsed("rule one_step\n  x : [n]\n  ReduceSum{axes=[0], keepdims=1}(x) => x\n"), "rules", 2);
  ASSERT_FALSE(rules);
  EXPECT_NE(rules.error().message.find("one_step"), std::string::npos) << rules.error().message;
}

TEST(ProveRules, NamesAreUnique) {
  auto twice = parsed("rule r\n  x : [A..]\n  Neg(Neg(x)) => x\n");
  twice.push_back(twice.front());
  EXPECT_FALSE(prove_rules(std::move(twice), "rules", 1));
}

TEST(RulesWithoutProof, AreNamed) {
  const RuleDatabase rules =
      RuleDatabase::without_proof(parsed("rule no_sign\n  a : [A..]\n  Neg(a) => a\n"));
  EXPECT_EQ(rules.unproved(), RuleNames{"no_sign"});
  EXPECT_EQ(rules.up_to(RoundingClass::rounding).unproved(), RuleNames{"no_sign"});
  EXPECT_TRUE(rules.up_to(RoundingClass::bitwise).substitutions().empty());
  EXPECT_TRUE(rules.bitwise().empty());
  EXPECT_EQ(rules.with_suggested_roles().unproved(), RuleNames{"no_sign"});
  EXPECT_TRUE(rules.selected([](const Substitution&) { return false; }).unproved().empty());
}

TEST(RulesWithoutProof, AreProvedIfAnotherSourceProvesThem) {
  auto proved = load_rules("rules");
  ASSERT_TRUE(proved) << proved.error().message;
  const Substitution& first = proved->substitutions().front();
  RuleDatabase both = RuleDatabase::without_proof({first});
  ASSERT_TRUE(both.add(*proved, "rules"));
  EXPECT_TRUE(both.unproved().empty());
  EXPECT_EQ(both.substitutions().size(), proved->substitutions().size());
  // The other way round it stays proved.
  ASSERT_TRUE(proved->add(RuleDatabase::without_proof({first}), "text"));
  EXPECT_TRUE(proved->unproved().empty());
}

TEST(RulesWithoutProof, DoNotTakeTheNameOfAnother) {
  auto proved = load_rules("rules");
  ASSERT_TRUE(proved) << proved.error().message;
  Substitution other = parsed("rule no_sign\n  a : [A..]\n  Neg(a) => a\n").front();
  other.name = proved->substitutions().front().name;
  const auto added = proved->add(RuleDatabase::without_proof({other}), "my.rules");
  ASSERT_FALSE(added);
  EXPECT_TRUE(added.error().message.starts_with("my.rules: rule '" + other.name + "'"))
      << added.error().message;
}

}  // namespace
}  // namespace lemma::verifier
