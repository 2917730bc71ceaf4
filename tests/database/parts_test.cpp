// Normal form, names, themes, derivation, journal.

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <utility>

#include "database/answer_journal.h"
#include "database/build.h"
#include "database/compose.h"
#include "database/derivation.h"
#include "database/naming.h"
#include "database/normal_form.h"
#include "database/themes.h"
#include "database/write.h"
#include "outputs/scratch.h"
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

TEST(Names, say_what_stands_on_both_sides) {
  const auto name = [](const char* text) { return descriptive_name(rule(text)); };
  EXPECT_EQ(name("  x : [B.., m, k]\n  a : [k, n]\n  b : [k, p]\n"
                 "  let s = Split{axis=-1, split=[n, p]}(MatMul(x, Concat{axis=-1}(a, b)))\n"
                 "  MatMul(x, a) & MatMul(x, b) => s#0 & s#1"),
            "matmul_pair_sharing_left_to_split_of_matmul");
  EXPECT_EQ(name("  x : [n, k]\n  a : [k, m]\n  MatMul(x, Relu(Neg(a))) => Relu(Relu(x))"),
            "matmul_of_right_relu_of_neg_to_relu_of_relu");
  EXPECT_EQ(name("  x : [n]\n  y : [n]\n  Max(Relu(x), Relu(y)) = Relu(Max(x, y))"),
            "max_of_relus_as_relu_of_max");
  EXPECT_EQ(
      name("  x : [n]\n  y : [n]\n  z : [n]\n  Add(Mul(x, y), Mul(z, x)) = Mul(x, Add(y, z))"),
      "add_of_muls_sharing_operand_as_mul_of_add");
  EXPECT_EQ(name("  x : [n]\n  Mul(x, Neg(x)) => Div(x, x)"),
            "mul_of_neg_with_its_input_to_div_with_itself");
  EXPECT_EQ(name("  x : [n]\n  y : [n]\n  Add(x, y) = Add(y, x)"), "add_rearranged");
  EXPECT_EQ(name("  x : [n + m]\n  Relu(Split{axis=0, split=[n, m]}(x)#1) = "
                 "Split{axis=0, split=[n, m]}(Relu(x))#1"),
            "relu_of_split_second_as_split_second_of_relu");
  EXPECT_EQ(name("  x : [n]\n  Neg(Neg(x)) => x"), "neg_of_neg_to_input");
}

TEST(Names, have_a_length_that_can_be_read) {
  const std::string name = descriptive_name(
      rule("  x : [n]\n  y : [n]\n  Softmax{axis=0}(Sigmoid(Tanh(Gelu(Add(x, y))))) => "
           "Reciprocal(Sigmoid(Softmax{axis=0}(Tanh(Mul(Gelu(x), Sigmoid(y))))))"));
  EXPECT_LE(name.size(), longest_name);
  EXPECT_TRUE(name.starts_with("softmax_of_sigmoid")) << name;
}

TEST(Names, are_given_to_what_is_written_and_are_its_own) {
  Build build;
  const auto add = [&build](const std::string& text, bool is_kept) {
    const Substitution named = *normal_form(rule(text));
    build.rules.push_back({{named, {}, "", ""}, {}, !is_kept, ""});
    return named.name;
  };
  add("  x : [A..]\n  y : [A..]\n  Add(x, y) = Add(y, x)", true);
  const std::string broadcast = add("  x : [A..]\n  y : [B..]\n  Add(x, y) = Add(y, x)", true);
  add("  x : [n]\n  y : [m, n]\n  Add(x, y) = Add(y, x)", true);
  add("  x : [n]\n  y : [m, m, n]\n  Add(x, y) = Add(y, x)", true);
  add("  x : [A..]\n  Relu(Abs(x)) = Abs(x)", true);
  const std::string left_out = add("  x : [A..]\n  Relu(Exp(x)) = Exp(x)", false);
  build.rules.back().derived_from = {broadcast};
  build.hand_written.push_back({{rule("  x : [n]\n  Relu(x) => x"), {}, "", ""}, {}, false, ""});
  build.hand_written[0].proved.rule.name = "relu_of_abs_as_abs";
  give_names(build, {});
  std::set<std::string> names;
  std::string last;
  for (const BuiltRule& one : build.rules) {
    names.insert(one.proved.rule.name);
    EXPECT_LE(std::exchange(last, one.proved.rule.name), one.proved.rule.name);
    if (one.is_shipped()) continue;
    EXPECT_EQ(one.derived_from, std::vector<std::string>{"add_rearranged_broadcast"});
  }
  EXPECT_EQ(names.size(), 6U);
  // Two have names of their own, three have digests, and what is not written keeps its digest.
  EXPECT_TRUE(names.contains("add_rearranged_broadcast"));
  EXPECT_TRUE(names.contains("add_rearranged_same_shape"));
  EXPECT_TRUE(names.contains(left_out));
  EXPECT_FALSE(names.contains("add_rearranged_fixed_rank") || names.contains("relu_of_abs_as_abs"));
}

TEST(Themes, go_by_what_computes_most) {
  const auto theme = [](const char* text) { return theme_of(rule(text)); };
  EXPECT_EQ(theme("  x : [n, k]\n  y : [k, m]\n  Relu(MatMul(x, y)) => MatMul(x, y)"), "matmul");
  EXPECT_EQ(
      theme("  x : [n, m]\n  Transpose{perm=[1, 0]}(Relu(x)) = Relu(Transpose{perm=[1, 0]}(x))"),
      "elementwise_movement");
  EXPECT_EQ(theme("  x : [n, m]\n  Transpose{perm=[1, 0]}(Transpose{perm=[1, 0]}(x)) => x"),
            "movement");
  EXPECT_EQ(theme("  x : [n]\n  Neg(Neg(x)) => x"), "elementwise");
  EXPECT_EQ(theme("  x : [n]\n  Relu(ReduceSum{axes=[0], keepdims=1}(x)) => Softmax{axis=0}(x)"),
            "softmax");
  for (const std::string_view one : {"matmul", "movement", "softmax"})
    EXPECT_NE(std::find(all_themes().begin(), all_themes().end(), one), all_themes().end());
  EXPECT_TRUE(is_found_file("matmul_found", "found") && is_found_file("found", "found"));
  EXPECT_FALSE(is_found_file("matmul", "found") || is_found_file("my_found", "found"));
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

TEST(Derivation, refinements_follow_from_refinements_for_more_axes) {
  const DerivationRules base(
      named({"  a : [A..]\n  b : [B..]\n  Mul(a, Reciprocal(Reciprocal(b))) => Mul(b, a)",
             "  a : [A..]\n  b : [B..]\n  Mul(a, b) = Mul(b, a)"}));
  const std::string sides[] = {"Mul(a, Reciprocal(Reciprocal(b)))", "Mul(a, b)"};
  const auto follows = [&](const std::string& claim) {
    return derive(rule("  a : [n]\n  b : [m, n]\n" + claim), base, Start::both_sides).derivable;
  };
  EXPECT_TRUE(follows("  " + sides[0] + " => " + sides[1]));
  // A product is defined where the quotient is not.
  EXPECT_FALSE(follows("  " + sides[1] + " => " + sides[0]));
  EXPECT_FALSE(follows("  " + sides[0] + " = " + sides[1]));
}

TEST(Derivation, many_axes_do_not_follow_from_few) {
  const std::string operands = "  a : [A..]\n  b : [B..]\n";
  const std::string few = operands + "  group A : 0..4\n  group B : 0..4\n  Add(a, b) = Add(b, a)";
  const std::string many = operands + "  group A : 0..8\n  group B : 0..8\n  Add(a, b) = Add(b, a)";
  EXPECT_TRUE(derive(rule(few), DerivationRules(named({many})), Start::both_sides).derivable);
  EXPECT_FALSE(derive(rule(many), DerivationRules(named({few})), Start::both_sides).derivable);
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
  const std::string key = AnswerJournal::key("query");
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
  const std::vector<Substitution> order = {rule_one.proved.rule};
  const auto marks = parse_derived_lines(derived_lines(build, order), "file");
  ASSERT_TRUE(marks);
  ASSERT_EQ(marks->size(), 1);
  EXPECT_EQ(marks->at(0).rule, "one");
  EXPECT_EQ(marks->at(0).from, (std::vector<std::string>{"two", "three"}));
  EXPECT_EQ(marks->at(0).reason, "reason: with a colon");
  EXPECT_FALSE(parse_derived_lines("nonsense\n", "file"));
}

}  // namespace
}  // namespace lemma::database
