#include "contradictions.h"

#include <gtest/gtest.h>

#include "rule_language/rule_database.h"

namespace lemma::contradictions {
namespace {

TEST(Contradictions, AreNotFoundAmongTheAxioms) {
  const auto axioms = read_substitutions("rules/axioms", ".axioms");
  ASSERT_TRUE(axioms) << axioms.error().message;
  for (const std::uint64_t seed : {1, 2, 3}) {
    Options options;
    options.seed = seed;
    options.nodes = 12'000;
    const Findings found = search(*axioms, options);
    EXPECT_GT(found.nodes, 1'000U);
    EXPECT_TRUE(found.contradictions.empty()) << "seed " << seed << ": " << found.contradictions[0];
  }
}

TEST(Contradictions, AreNotFoundAmongTheRules) {
  const auto rules = read_substitutions("rules/substitutions", ".rules");
  ASSERT_TRUE(rules) << rules.error().message;
  Options options;
  options.nodes = 12'000;
  const Findings found = search(*rules, options);
  EXPECT_TRUE(found.contradictions.empty()) << found.contradictions[0];
}

// As the axioms were read once: what Sub(x, x) and Div(x, x) refine to was put in their place.
TEST(Contradictions, AreFoundWhereRefinementsAreReadAsEquations) {
  const auto axioms = read_substitutions("rules/axioms", ".axioms");
  ASSERT_TRUE(axioms) << axioms.error().message;
  Options options;
  options.nodes = 3'000;
  options.refinements_as_equations = true;
  EXPECT_FALSE(search(*axioms, options).contradictions.empty());
}

TEST(Contradictions, AreFoundInFalseAxioms) {
  for (const char* claim :
       {"  x : [A..]\n  param t : type\n"
        "  Div(x, x) = Add(Sub(x, x), ConstantOfShape{data_type=t, shape=[A..], value=1.0}())",
        "  x : []\n  Add(x, x) = x", "  x : []\n  Abs(x) = x",
        "  x : []\n  y : []\n  Max(x, y) = Min(x, y)"}) {
    auto axioms = read_substitutions("rules/axioms", ".axioms");
    const auto wrong = parse_substitutions(std::string("axiom wrong\n") + claim + "\n", "test");
    ASSERT_TRUE(axioms && wrong) << claim;
    axioms->push_back(wrong->front());
    Options options;
    options.nodes = 6'000;
    EXPECT_FALSE(search(*axioms, options).contradictions.empty()) << claim;
  }
}

}  // namespace
}  // namespace lemma::contradictions
