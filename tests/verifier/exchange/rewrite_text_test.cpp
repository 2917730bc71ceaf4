// Rules as text for egg and egglog: what is written is read again as the same claim.

#include <gtest/gtest.h>

#include <algorithm>

#include "rule_language/rule_database.h"
#include "verifier/exchange/rewrite_text.h"

namespace lemma::exchange {
namespace {

/// As a rule, without roles.
std::string claim(Substitution rule) {
  rule.is_axiom = false;
  return text(rule);
}

std::vector<Substitution> parse(std::string_view source) {
  auto parsed = parse_substitutions(source, "test");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed.value_or(std::vector<Substitution>{});
}

void expect_round_trip(const std::vector<Substitution>& rules, RewriteFormat format) {
  const WrittenRewrites written = write_rewrites(rules, format);
  const auto again = read_rewrites(written.text, format, "written");
  ASSERT_TRUE(again) << again.error().message;
  std::size_t next = 0, with_free_parameters = 0;
  for (const Substitution& rule : rules) {
    if (!rule.free.empty()) {
      ++with_free_parameters;
      continue;
    }
    ASSERT_LT(next, again->size());
    EXPECT_EQ(claim((*again)[next++]), claim(rule));
  }
  EXPECT_EQ(next, again->size());
  EXPECT_EQ(written.count, next);
  EXPECT_EQ(written.left_out.size(), with_free_parameters);
}

class RewriteText : public ::testing::TestWithParam<RewriteFormat> {};

TEST_P(RewriteText, ShippedRulesAreReadAgain) {
  const auto rules = read_substitutions("rules/substitutions", ".rules");
  ASSERT_TRUE(rules) << rules.error().message;
  ASSERT_GT(rules->size(), 900U);
  expect_round_trip(*rules, GetParam());
}

TEST_P(RewriteText, AxiomsAreReadAgain) {
  const auto axioms = read_substitutions("rules/axioms", ".axioms");
  ASSERT_TRUE(axioms) << axioms.error().message;
  expect_round_trip(*axioms, GetParam());
}

TEST_P(RewriteText, ErrorsNameTheLine) {
  const bool egg = GetParam() == RewriteFormat::egg;
  const std::string good =
      write_rewrites(parse("rule r\n  x : [n]\n  Relu(Relu(x)) = Relu(x)\n"), GetParam()).text;
  const std::string cut = good.substr(0, good.size() - 3);
  const auto missing = read_rewrites(cut, GetParam(), "file");
  ASSERT_FALSE(missing);
  EXPECT_TRUE(missing.error().message.starts_with("file:")) << missing.error().message;
  EXPECT_NE(missing.error().message.find("')' is missing"), std::string::npos)
      << missing.error().message;
  const auto other =
      read_rewrites(egg ? "r; (Relu ?x) (Relu ?x)\n" : "(saturate r)\n", GetParam(), "file");
  ASSERT_FALSE(other);
  EXPECT_TRUE(other.error().message.starts_with("file:1: expected")) << other.error().message;
  const auto unknown = read_rewrites(egg ? "r; (Nothing ?x) => ?x if (tensor ?x \"\" (list ?n))\n"
                                         : "(rewrite (Nothing/0/1 x) x :when ((tensor/2/1 x (Text "
                                           "\"\") (list/1/0 n))) :ruleset r)\n",
                                     GetParam(), "file");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message, "file:1: there is no operator 'Nothing'");
  const auto unbound =
      read_rewrites(egg ? "\nr; (Relu ?x) => (Relu ?y) if (tensor ?x \"\" (list ?n))\n"
                        : "\n(rewrite (Relu/0/1 x) (Relu/0/1 y) :when "
                          "((tensor/2/1 x (Text \"\") (list/1/0 n))) :ruleset r)\n",
                    GetParam(), "file");
  ASSERT_FALSE(unbound);
  EXPECT_TRUE(unbound.error().message.starts_with("file:2: rule r: ")) << unbound.error().message;
}

INSTANTIATE_TEST_SUITE_P(Formats, RewriteText,
                         ::testing::Values(RewriteFormat::egg, RewriteFormat::egglog),
                         [](const auto& format) {
                           return format.param == RewriteFormat::egg ? "egg" : "egglog";
                         });

TEST(RewriteTextForms, EggHasPatternsAndFacts) {
  const auto rules =
      parse("rule merge\n  x : [m, k]\n  weight a : f32[k, n]\n  MatMul(x, a) = MatMul(x, a)\n");
  EXPECT_EQ(write_rewrites(rules, RewriteFormat::egg).text,
            "merge; (MatMul ?x ?a) <=> (MatMul ?x ?a) if (tensor ?x \"\" (list ?m ?k)) "
            "if (tensor ?a \"f32\" (list ?k ?n)) if (weight ?a)\n");
}

TEST(RewriteTextForms, RootsHaveNamesThatNoInputHas) {
  const auto rules =
      parse("rule r\n  r0 : [n]\n  r1 : [n]\n  Relu(r0) & Neg(r1) => Relu(Relu(r0)) & Neg(r1)\n");
  EXPECT_TRUE(write_rewrites(rules, RewriteFormat::egg)
                  .text.starts_with("r; ?root-0 = (Relu ?r0) , ?root-1 = (Neg ?r1) => "));
  for (const RewriteFormat format : {RewriteFormat::egg, RewriteFormat::egglog})
    expect_round_trip(rules, format);
}

TEST(RewriteTextForms, EgglogDeclaresWhatItUses) {
  const auto rules = parse("rule r\n  x : [n + 1]\n  Softmax{axis=0}(Relu(x)) => Relu(x)\n");
  const std::string text = write_rewrites(rules, RewriteFormat::egglog).text;
  EXPECT_NE(text.find("(constructor Softmax/1/1 (Attribute Tensor) Tensor)\n"), std::string::npos);
  EXPECT_NE(text.find("(relation tensor/2/1 (Tensor Attribute Attribute))\n"), std::string::npos);
  EXPECT_NE(
      text.find("(rewrite (Softmax/1/1 (axis/1/0 (Number 0)) (Relu/0/1 x)) (Relu/0/1 x) :when "
                "((tensor/2/1 x (Text \"\") (list/1/0 (+/2/0 n (Number 1))))) :ruleset r)\n"),
      std::string::npos)
      << text;
}

}  // namespace
}  // namespace lemma::exchange
