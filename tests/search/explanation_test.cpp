// What a search explains, the checker replays; what is altered, it refuses.

#include "search/explanation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "costmodel/graph_cost.h"
#include "ir/graph_text.h"
#include "search/optimize.h"
#include "verifier/checker/explanation.h"

namespace lemma {
namespace {

constexpr std::string_view rules_text = R"(
rule add_commutative
  x : [S..]
  y : [S..]
  Add(x, y) => Add(y, x)

rule add_associative
  x : [S..]
  y : [S..]
  z : [S..]
  Add(Add(x, y), z) = Add(x, Add(y, z))

rule sum_of_matmuls_sharing_right
  x : [B.., m, k]
  y : [B.., m, k]
  a : [k, n]
  MatMul(Add(x, y), a) = Add(MatMul(x, a), MatMul(y, a))

rule merge_matmul_shared_left
  x : [B.., m, k]
  weight a : [k, n]
  weight b : [k, p]
  let both = Split{axis=-1, split=[n, p]}(MatMul(x, Concat{axis=-1}(a, b)))
  MatMul(x, a) & MatMul(x, b) => both#0 & both#1
)";

// p = x*a + (c + y*a) wants reordering before the products become one.
constexpr std::string_view reordered = R"(graph "reordered"
  input %0 "x" : f32[2, 3]
  input %1 "y" : f32[2, 3]
  input %2 "a" : f32[3, 4]
  input %3 "c" : f32[2, 4]
  %4 = MatMul(%0, %2) : f32[2, 4]
  %5 = MatMul(%1, %2) : f32[2, 4]
  %6 = Add(%3, %5) : f32[2, 4]
  %7 = Add(%4, %6) : f32[2, 4]
  output "p" = %7
)";

constexpr std::string_view two_products = R"(graph "two"
  input %0 "x" : f32[2, 3]
  %1 = constant f32[3, 1] [1, 2, 3]
  %2 = constant f32[3, 2] [1, 2, 3, 4, 5, 6]
  %3 = MatMul(%0, %1) : f32[2, 1]
  %4 = MatMul(%0, %2) : f32[2, 2]
  output "p" = %3
  output "q" = %4
)";

class Explanations : public ::testing::Test {
 protected:
  Explanations()
      : rules_(RuleDatabase::without_proof(*parse_substitutions(rules_text, "test.rules"))) {
    for (const Substitution& rule : rules_.substitutions()) table_[rule.name] = &rule;
  }

  std::string explanation_of(std::string_view graph_text, bool improved = true) {
    const auto graph = parse_graph(graph_text);
    EXPECT_TRUE(graph) << graph.error().message;
    const OperatorCosts costs(priced_by_roofline(*load_device("targets/devices/cpu.json")));
    SearchOptions options;
    options.explain = true;
    const auto found = optimize(*graph, rules_, costs, options);
    EXPECT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->improved, improved);
    return found->explanation;
  }

  /// Every step left out, every number and letter after a sign altered: none may pass.
  void expect_no_mutant_passes(const std::string& text) {
    std::size_t mutants = 0;
    const auto refuse = [&](const std::string& mutant) {
      if (mutant == text) return;
      ++mutants;
      EXPECT_FALSE(checker::check_explanation(mutant, table_)) << mutant;
    };
    for (std::size_t at = text.find("\nstep "); at != std::string::npos;
         at = text.find("\nstep ", at + 1)) {
      const std::size_t end = text.find('\n', at + 1);
      refuse(text.substr(0, at) + text.substr(end));
      for (std::size_t i = text.find(": ", at); i < end; ++i) {
        if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) continue;
        std::string mutant = text;
        mutant[i] = mutant[i] == '9' ? '8' : static_cast<char>(mutant[i] + 1);
        refuse(mutant);
      }
    }
    const auto replaced = [&text](const std::string& from, const std::string& to) {
      std::string mutant = text;
      const std::size_t at = mutant.find(from);
      EXPECT_NE(at, std::string::npos) << from;
      if (at != std::string::npos) mutant.replace(at, from.size(), to);
      return mutant;
    };
    const std::size_t digest = text.find("\nrule ");
    const std::size_t end = text.find('\n', digest + 1);
    std::string other = text;
    other[end - 1] = other[end - 1] == '0' ? '1' : '0';
    refuse(other);
    refuse(text.substr(0, digest) + text.substr(end));
    refuse(replaced("explanation 2", "explanation 1"));
    refuse(replaced("end\n", ""));
    refuse(replaced("end\n", "more\nend\n"));
    refuse(replaced("\"after p\"", "\"after z\""));
    refuse(replaced(" forward:", " sideways:"));
    // The output after is made to be an input.
    const std::size_t after = text.find("output \"after p\" = %") + 20;
    refuse(text.substr(0, after) + "0" + text.substr(text.find('\n', after)));
    EXPECT_GT(mutants, 15U);
  }

  RuleDatabase rules_;
  checker::RuleTable table_;
};

TEST_F(Explanations, HoldAndAlteredOnesDoNot) {
  const std::string text = explanation_of(reordered);
  const auto size = checker::check_explanation(text, table_);
  ASSERT_TRUE(size) << size.error().message << "\n" << text;
  EXPECT_EQ(size->outputs, 1U);
  EXPECT_EQ(size->rules, 3U) << text;
  EXPECT_EQ(size->outside.size(), 3U);
  expect_no_mutant_passes(text);
}

TEST_F(Explanations, CoverRulesWithSeveralOutputs) {
  const std::string text = explanation_of(two_products);
  const auto size = checker::check_explanation(text, table_);
  ASSERT_TRUE(size) << size.error().message << "\n" << text;
  EXPECT_EQ(size->outputs, 2U);
  EXPECT_NE(text.find("step merge_matmul_shared_left forward"), std::string::npos);
  expect_no_mutant_passes(text);
}

// What goes into the opaque operator must be equal too, and what comes out is equal then.
TEST_F(Explanations, GoThroughOpaqueOperators) {
  const std::string text = explanation_of(R"(graph "opaque"
  input %0 "x" : f32[2, 3]
  %1 = constant f32[3, 1] [1, 2, 3]
  %2 = constant f32[3, 2] [1, 2, 3, 4, 5, 6]
  %3 = MatMul(%0, %1) : f32[2, 1]
  %4 = MatMul(%0, %2) : f32[2, 2]
  %5 = opaque "com.example" "Widget" "payload" "unknown" (%3) : f32[2, 3]
  %6 = MatMul(%5, %1) : f32[2, 1]
  %7 = MatMul(%5, %2) : f32[2, 2]
  output "p" = %6
  output "q" = %7
  output "r" = %4
)");
  const auto size = checker::check_explanation(text, table_);
  ASSERT_TRUE(size) << size.error().message << "\n" << text;
  EXPECT_EQ(size->outputs, 4U);  // and what goes into the operator
  EXPECT_EQ(size->steps, 2U) << text;
  EXPECT_EQ(size->outside.size(), 4U);
  EXPECT_NE(text.find("before into opaque Widget"), std::string::npos);
  expect_no_mutant_passes(text);
}

// What changes nothing needs no rule; that it changes nothing is read off the constants again.
TEST_F(Explanations, SayWhatAConstantHolds) {
  const std::string ones = "constant f32[2, 3] [1, 1, 1, 1, 1, 1]";
  const std::string text = explanation_of(fmt::format(R"(graph "product"
  input %0 "x" : f32[2, 3]
  %1 = {}
  %2 = Mul(%0, %1) : f32[2, 3]
  %3 = Relu(%2) : f32[2, 3]
  output "p" = %3
)",
                                                      ones));
  EXPECT_TRUE(checker::check_explanation(text, table_)) << text;
  const std::size_t at = text.find("[1, 1, 1, 1, 1, 1]");
  ASSERT_NE(at, std::string::npos) << text;
  for (std::size_t i = at + 1; i < at + 18; i += 3) {
    std::string mutant = text;
    mutant[i] = '2';
    EXPECT_FALSE(checker::check_explanation(mutant, table_)) << mutant;
  }
  std::string sum = text;
  sum.replace(sum.find("Mul("), 4, "Add(");
  EXPECT_FALSE(checker::check_explanation(sum, table_)) << sum;
}

TEST_F(Explanations, OfAnUnchangedGraphHaveNoSteps) {
  const std::string text = explanation_of(R"(graph "one"
  input %0 "x" : f32[2, 3]
  %1 = constant f32[3, 1] [1, 2, 3]
  %2 = MatMul(%0, %1) : f32[2, 1]
  output "p" = %2
)",
                                          false);
  const auto size = checker::check_explanation(text, table_);
  ASSERT_TRUE(size) << size.error().message << "\n" << text;
  EXPECT_EQ(size->outputs, 1U);
  EXPECT_EQ(size->steps, 0U);
}

TEST_F(Explanations, RestOnRulesThatAreProved) {
  const std::string text = explanation_of(two_products);
  table_.erase("merge_matmul_shared_left");
  const auto refused = checker::check_explanation(text, table_);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("merge_matmul_shared_left"), std::string::npos);
}

/// Whether a search that was not asked for an explanation names what it stands on.
TEST_F(Explanations, NameRulesWithoutProof) {
  const std::string text = explanation_of(two_products);
  EXPECT_NE(text.find("outside rule 'merge_matmul_shared_left': it is taken without proof\n"),
            std::string::npos)
      << text;
  const auto found =
      optimize(*parse_graph(two_products), rules_,
               OperatorCosts(priced_by_roofline(*load_device("targets/devices/cpu.json"))), {});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->unproved, std::vector<std::string>{"merge_matmul_shared_left"});
}

}  // namespace
}  // namespace lemma
