// Normal form, derivation, journal.

#include <gtest/gtest.h>

#include <filesystem>

#include "database/answer_journal.h"
#include "database/build.h"
#include "database/compose.h"
#include "database/derivation.h"
#include "database/normal_form.h"
#include "database/write.h"
#include "system/program.h"

namespace lemma::database {
namespace {

Substitution rule(const std::string& text) {
  const auto parsed = parse_substitutions("rule r\n" + text + "\n", "test");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed->front();
}

TEST(NormalForm, names_and_direction_do_not_matter) {
  const auto one =
      normal_form(rule("  a : [m]\n  b : [m]\n  Relu(Add(a, b)) = Relu(Sub(a, Neg(b)))"));
  const auto other =
      normal_form(rule("  y : [k]\n  x : [k]\n  Relu(Sub(x, Neg(y))) = Relu(Add(x, y))"));
  ASSERT_TRUE(one && other);
  EXPECT_EQ(text(*one), text(*other));
  EXPECT_EQ(one->name.substr(0, 4), other->name.substr(0, 4));
}

TEST(NormalForm, different_claims_stay_different) {
  const auto one = normal_form(rule("  a : [m]\n  b : [m]\n  Sub(a, b) => Neg(Sub(b, a))"));
  const auto other = normal_form(rule("  a : [m]\n  b : [n]\n  Sub(a, b) => Neg(Sub(b, a))"));
  ASSERT_TRUE(one && other);
  EXPECT_NE(claim_text(*one), claim_text(*other));
}

TEST(NormalForm, what_says_nothing_is_none) {
  EXPECT_FALSE(normal_form(rule("  a : [m]\n  Relu(a) = Relu(a)")));
}

TEST(NormalForm, is_its_own_normal_form) {
  const auto once =
      normal_form(rule("  x : [B.., k, m]\n  w : [m, n]\n  param e : real\n  "
                       "Elu{alpha=e}(MatMul(x, w)) => Elu{alpha=e}(MatMul(x, w))"));
  EXPECT_FALSE(once);  // the sides are the same
  const auto other = normal_form(
      rule("  x : [B.., k, m]\n  w : [m, n]\n  Relu(Relu(MatMul(x, w))) = Relu(MatMul(x, w))"));
  ASSERT_TRUE(other);
  EXPECT_EQ(text(*normal_form(*other)), text(*other));
}

const char* const associative =
    "  a : [A..]\n  b : [A..]\n  c : [A..]\n  Add(Add(a, b), c) = Add(a, Add(b, c))";
const char* const commutative = "  a : [A..]\n  b : [A..]\n  Add(a, b) = Add(b, a)";

std::vector<Substitution> named(std::vector<std::string> texts) {
  std::vector<Substitution> result;
  for (const std::string& one : texts) {
    result.push_back(rule(one));
    result.back().name = "rule" + std::to_string(result.size());
  }
  return result;
}

TEST(Derivation, follows_from_two_rules_and_names_them) {
  const std::vector<Substitution> rules =
      named({associative, commutative, "  a : [A..]\n  Relu(Relu(a)) = Relu(a)"});
  const DerivationRules base(rules);
  const Substitution wanted =
      rule("  a : [m]\n  b : [m]\n  c : [m]\n  Add(Add(a, b), c) = Add(Add(c, b), a)");
  const Derivation found = derive(wanted, base, Start::both_sides);
  ASSERT_TRUE(found.derivable) << found.stopped;
  EXPECT_EQ(needed_rules(wanted, base, found, Start::both_sides),
            (std::vector<std::string>{"rule1", "rule2"}));
  EXPECT_TRUE(derive(wanted, base, Start::left_side).derivable);
}

TEST(Derivation, one_of_two_is_not_enough) {
  const Substitution wanted = rule("  a : [m]\n  b : [m]\n  Add(a, b) = Add(b, a)");
  EXPECT_FALSE(derive(wanted, DerivationRules(named({associative})), Start::both_sides).derivable);
}

TEST(Derivation, all_cases_count) {
  const Substitution general = rule(commutative);
  const Substitution special = rule("  a : [m, n]\n  b : [m, n]\n  Add(a, b) = Add(b, a)");
  EXPECT_TRUE(derive(special, DerivationRules(named({commutative})), Start::both_sides).derivable);
  EXPECT_FALSE(derive(general, DerivationRules({special}), Start::both_sides).derivable);
}

TEST(Derivation, meeting_is_not_finding) {
  // Only in this direction: from Relu(a) nobody comes to Relu(Relu(a)).
  const DerivationRules base(named({"  a : [A..]\n  Relu(Relu(a)) => Relu(a)"}));
  const Substitution wanted = rule("  a : [m]\n  Relu(a) => Relu(Relu(Relu(a)))");
  EXPECT_TRUE(derive(wanted, base, Start::both_sides).derivable);
  EXPECT_FALSE(derive(wanted, base, Start::left_side).derivable);
}

TEST(Compose, outputs_of_one_node_become_a_rule) {
  const std::vector<Substitution> rules =
      named({"  x : [m, k]\n  a : [k, n]\n  b : [k, p]\n  Split{axis=1, split=[n, p]}(MatMul(x, "
             "Concat{axis=1}(a, b)))#1 => MatMul(x, b)",
             "  x : [m, k]\n  a : [k, n]\n  b : [k, p]\n  Split{axis=1, split=[n, p]}(MatMul(x, "
             "Concat{axis=1}(a, b)))#0 => MatMul(x, a)"});
  const auto composed = several_outputs(rules);
  ASSERT_EQ(composed.size(), 1);
  EXPECT_EQ(composed[0].left.size(), 2);
  EXPECT_NE(text(composed[0]).find("MatMul(x1, x2) & MatMul(x1, x3) => t1#0 & t1#1"),
            std::string::npos)
      << text(composed[0]);
  EXPECT_TRUE(several_outputs({rules[0]}).empty());
}

TEST(AnswerJournal, remembers_over_processes) {
  const TemporaryDirectory folder;
  const std::filesystem::path file = folder.path() / "journal";
  const std::string key = AnswerJournal::key("question");
  { ASSERT_TRUE(AnswerJournal::open(file, "job")->add(key, "two\nlines")); }
  const auto again = AnswerJournal::open(file, "job");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->answers(), 1U);
  EXPECT_EQ(again->find(key), "two\nlines");
  EXPECT_FALSE(again->knows(AnswerJournal::key("another")));
}

TEST(Marks, lines_of_derived_rules_are_read_back) {
  Build build;
  BuiltRule rule_one;
  rule_one.proved.rule.name = "one";
  rule_one.derived = true;
  rule_one.derived_from = {"two", "three"};
  rule_one.kept_because = "reason: with a colon";
  build.rules = {rule_one};
  const auto marks = parse_derived_lines(derived_lines(build), "file");
  ASSERT_TRUE(marks);
  ASSERT_EQ(marks->size(), 1);
  EXPECT_EQ(marks->at(0).rule, "one");
  EXPECT_EQ(marks->at(0).from, (std::vector<std::string>{"two", "three"}));
  EXPECT_EQ(marks->at(0).reason, "reason: with a colon");
  EXPECT_FALSE(parse_derived_lines("nonsense\n", "file"));
}

}  // namespace
}  // namespace lemma::database
