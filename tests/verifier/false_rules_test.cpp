// tests/verifier/false: rules that are not true, each against one thing that proofs have to get right. None may
// have a proof from axioms, and where it is the cases that stand in the way, they say so.

#include <set>

#include <gtest/gtest.h>

#include "rule_language/rule_cases.h"
#include "rule_language/rule_database.h"
#include "tests/verifier/shipped_axioms.h"
#include "verifier/prover/prove.h"

namespace lemma::verifier {
namespace {

std::vector<Substitution> read(const std::string& family) {
  const std::string file = "tests/verifier/false/" + family + ".rules";
  const auto contents = read_text_file(file);
  EXPECT_TRUE(contents) << file;
  auto rules = parse_substitutions(contents ? *contents : "", file);
  EXPECT_TRUE(rules) << (rules ? "" : rules.error().message);
  return rules ? std::move(*rules) : std::vector<Substitution>{};
}

/// Sampling would refute most of them: what is tested is that there is no path from axioms.
void expect_no_proof(const std::string& family) {
  const std::vector<Substitution> rules = read(family);
  EXPECT_GE(rules.size(), 20U);
  for (const Substitution& rule : rules) {
    const Verdict verdict = prove_from_axioms(rule, shipped_axioms());
    EXPECT_FALSE(is_proved(verdict)) << text(rule);
  }
}

TEST(FalseRules, AboutSomeRealNumbersAreNotProved) { expect_no_proof("real_parameters"); }
TEST(FalseRules, WithConditionsThatSymbolsDoNotDecideAreNotProved) {
  expect_no_proof("excluded_cases");
}
TEST(FalseRules, WithNamesLikeSymbolsAreNotProved) { expect_no_proof("symbols"); }
TEST(FalseRules, WithAnUndefinedRightSideAreNotProved) { expect_no_proof("undefined"); }
TEST(FalseRules, ThatReadRefinementsAsEquationsAreNotProved) { expect_no_proof("directions"); }

/// What computes with a parameter is named, before anything is searched.
TEST(RealParameters, ThatAreComputedWithHaveNoCases) {
  const std::set<std::string> compared = {
      "clip_wrong_order",   "clip_forgets_one",    "clip_takes_the_smaller",
      "clip_of_three",      "swish_of_any_slope",  "relu_of_clip_above",
      "token_of_a_product", "token_of_a_quotient", "clip_of_large_clip"};
  std::size_t refused = 0;
  for (const Substitution& rule : read("real_parameters")) {
    const auto cases = required_cases(rule);
    EXPECT_EQ(cases.has_value(), compared.contains(rule.name)) << rule.name;
    if (cases) continue;
    ++refused;
    EXPECT_TRUE(cases.error().message.find("real parameter") != std::string::npos ||
                cases.error().message.find("stands for a parameter") != std::string::npos)
        << rule.name << ": " << cases.error().message;
  }
  EXPECT_GE(refused, 15U);
}

/// A condition that cannot be decided leaves its case in.
TEST(Cases, AreNotExcludedByWhatSymbolsDoNotDecide) {
  for (const Substitution& rule : read("excluded_cases")) {
    const auto cases = required_cases(rule);
    ASSERT_TRUE(cases) << rule.name << ": " << cases.error().message;
    std::size_t ranks = 1;
    for (const RuleGroup& group : rule.groups) ranks *= group.maximum - group.minimum + 1;
    EXPECT_EQ(cases->size(), ranks) << rule.name;
  }
}

void add_symbols(const Shape& shape, std::multiset<std::string>& symbols) {
  for (const Dimension& size : shape)
    if (!size.is_constant()) symbols.insert(size.text());
}

/// The sizes of groups and lists that a rule declares apart have no symbol in common, but for groups
/// that are broadcast to a common size; and no symbol is a name of the rule.
TEST(Cases, MakeUpSymbolsThatNoRuleCanWrite) {
  for (const Substitution& rule : read("symbols")) {
    const auto cases = required_cases(rule);
    ASSERT_TRUE(cases) << rule.name << ": " << cases.error().message;
    for (const RuleCase& one : *cases) {
      std::multiset<std::string> of_groups, of_parameters;
      for (const auto& [name, shape] : one.bindings.groups) add_symbols(shape, of_groups);
      for (const auto& [name, value] : one.bindings.parameters)
        if (const auto* shape = std::get_if<Shape>(&value)) add_symbols(*shape, of_parameters);
      for (const std::string& symbol : of_parameters) {
        EXPECT_FALSE(of_groups.contains(symbol)) << rule.name << ": " << symbol;
        EXPECT_EQ(of_parameters.count(symbol), 1U) << rule.name << ": " << symbol;
      }
      for (const std::string& symbol : of_groups)
        EXPECT_NE(symbol.find('.'), std::string::npos) << rule.name << ": " << symbol;
    }
  }
}

TEST(RealParameters, TakeEveryOrderOnce) {
  // Weak orders of the parameters and 0: 3, 13, 75, 541.
  std::string text = "rule r\n  x : [n]\n";
  std::string term = "x";
  std::size_t expected[] = {3, 13, 75, 541};
  for (std::size_t count = 1; count <= 4; ++count) {
    const std::string name(1, static_cast<char>('a' + count - 1));
    text += "  param " + name + " : real\n";
    term = "Clip{min=" + name + "}(" + term + ")";
    const auto rules = parse_substitutions(text + "  " + term + " => " + term + "\n", "test");
    ASSERT_TRUE(rules) << rules.error().message;
    const auto cases = required_cases(rules->front());
    ASSERT_TRUE(cases) << cases.error().message;
    EXPECT_EQ(cases->size(), expected[count - 1]);
    std::set<std::string> different;
    for (const RuleCase& one : *cases) different.insert(one.text);
    EXPECT_EQ(different.size(), cases->size());
  }
}

}  // namespace
}  // namespace lemma::verifier
