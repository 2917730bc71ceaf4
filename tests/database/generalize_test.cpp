// A concrete instance of a shipped rule is made general again, until the rule follows from it.

#include "database/generalize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "database/derivation.h"
#include "rule_language/rule_database.h"
#include "system/parallel.h"
#include "tests/database/concrete.h"
#include "verifier/verify_database.h"

namespace lemma::database {
namespace {

const verifier::AxiomSet& axioms() {
  static const auto loaded = verifier::load_axioms("rules");
  return loaded->set;
}

std::vector<Substitution> hand_written() {
  const auto contents = read_text_file("tests/database/hand_written_first.rules");
  EXPECT_TRUE(contents);
  auto rules = parse_substitutions(contents.value_or(""), "hand_written_first.rules");
  EXPECT_TRUE(rules);
  return *rules;
}

struct Attempt {
  std::string outcome;  // "covered", "instance", "unproved", "narrower"
  std::string general;  // what it became
};

Attempt generalize_instance(const Substitution& rule, const DerivationRules& commutativity) {
  const auto one = typical_case(rule);
  const auto instance = one ? concrete_instance(rule, *one, 2) : std::nullopt;
  if (!instance) return {"no instance", ""};
  const Generalized found = generalize(*instance, axioms());
  if (found.rules.empty()) return {"unproved", verifier::text(found.verdict) + text(*instance)};
  DerivationRules rules = commutativity;
  std::string general;
  for (const GeneralRule& one_rule : found.rules) {
    general += text(one_rule.rule);
    Substitution wide = one_rule.rule;
    for (RuleGroup& group : wide.groups) group.maximum = 8;
    rules.add(wide);
  }
  Derivation derivation = derive(rule, rules, Start::both_sides);
  if (!derivation.derivable && !rule.bidirectional)
    derivation = derive(rule, rules.as_refinements(), Start::left_side);
  return {derivation.derivable ? "covered" : "narrower", general + derivation.stopped};
}

/// What no step of generalization expresses.
const std::set<std::string> narrower = {
    "fold_pad_into_conv",     "fold_pad_into_biased_conv",
    "clip_of_relu",           "relu_of_clip",
    "clip_of_clip",  // order of reals
    "unsqueeze_as_reshape",   "unsqueeze_two_as_reshape",
    "squeeze_as_reshape",  // places between
    "squeeze_two_as_reshape", "flatten_as_reshape",
    "squeeze_of_unsqueeze",   "unsqueeze_of_squeeze",  // axes
};
/// Shapes that must have as many elements as others have no instance with symbols alone.
const std::set<std::string> without_instance = {"reshape_of_reshape", "relu_of_reshape",
                                                "add_of_reshapes", "scalar_times_reshape"};

class ShareOfRules : public testing::TestWithParam<std::size_t> {};

TEST_P(ShareOfRules, comes_back_from_an_instance) {
  std::vector<Substitution> rules;
  const std::vector<Substitution> all = hand_written();
  for (std::size_t i = GetParam(); i < all.size(); i += 2) rules.push_back(all[i]);
  ASSERT_FALSE(rules.empty());
  std::vector<Attempt> attempts(rules.size());
  parallel_for(rules.size(), 0,
               [&](std::size_t i) { attempts[i] = generalize_instance(rules[i], {}); });
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::string expected = without_instance.contains(rules[i].name) ? "no instance"
                                 : narrower.contains(rules[i].name)       ? "narrower"
                                                                          : "covered";
    EXPECT_EQ(attempts[i].outcome, expected) << rules[i].name << "\n" << attempts[i].general;
  }
}

// Every other one; `scripts/test --all` takes the others as well.
INSTANTIATE_TEST_SUITE_P(Half, ShareOfRules, testing::Values<std::size_t>(0));
INSTANTIATE_TEST_SUITE_P(DISABLED_Others, ShareOfRules, testing::Values<std::size_t>(1));

Generalized from_text(const std::string& rule) {
  const auto parsed = parse_substitutions(rule, "test");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return generalize(*normal_form(parsed->front()), axioms());
}

TEST(Generalize, a_false_candidate_is_refuted) {
  const Generalized found =
      from_text("rule r\n  x : [n, n]\n  Transpose{perm=[1, 0]}(MatMul(x, x)) = MatMul(x, x)\n");
  EXPECT_TRUE(found.rules.empty());
  EXPECT_TRUE(verifier::is_refuted(found.verdict)) << verifier::text(found.verdict);
}

TEST(Generalize, sizes_that_were_equal_by_chance_are_told_apart) {
  const Generalized found = from_text(
      "rule r\n  defined x : [n, n]\n  y : [n, n]\n  defined z : [n, n]\n"
      "  MatMul(MatMul(x, y), z) = MatMul(x, MatMul(y, z))\n");
  ASSERT_FALSE(found.rules.empty());
  EXPECT_EQ(claim_text(found.rules[0].rule),
            "  defined x1 : [A.., n1, n2]\n  x2 : [B.., n2, n3]\n  defined x3 : [C.., n3, n4]\n"
            "  MatMul(MatMul(x1, x2), x3) = MatMul(x1, MatMul(x2, x3))\n");
}

TEST(Generalize, uses_of_one_input_become_uses_of_two) {
  const Generalized found = from_text(
      "rule r\n  x : [m, n]\n  w : [n, p]\n"
      "  Add(MatMul(x, w), MatMul(x, w)) = MatMul(Add(x, x), w)\n");
  ASSERT_FALSE(found.rules.empty());
  EXPECT_EQ(found.rules[0].rule.inputs.size(), 3) << text(found.rules[0].rule);
}

}  // namespace
}  // namespace lemma::database
