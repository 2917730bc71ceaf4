// Rules that save something, used at many places of a graph at a time.

#include "search/descent.h"

#include <fmt/format.h>

#include "check/sampled_check.h"
#include "ir/check.h"
#include "ir/graph_text.h"
#include "tests/ir/parsed_graph.h"
#include "tests/search/random_network.h"

namespace lemma {
namespace {

/// Operators of one operand, one after the other.
Graph chain(const std::vector<std::string>& operators) {
  std::string text = "graph \"g\"\n  input %0 \"x\" : f32[64, 64]\n";
  for (std::size_t i = 0; i < operators.size(); ++i)
    text += fmt::format("  %{} = {}(%{})\n", i + 1, operators[i], i);
  return testing::parsed(text + fmt::format("  output \"y\" = %{}\n", operators.size()));
}

std::size_t count(const Graph& graph, std::string_view op) {
  const std::string text = print_graph(graph);
  std::size_t result = 0;
  for (std::size_t at = text.find(op); at != std::string::npos; at = text.find(op, at + 1))
    ++result;
  return result;
}

void expect_same_function(const Graph& before, const Graph& after) {
  ASSERT_TRUE(check(after, Stage::imported));
  const auto same = compare_on_random_inputs(before, after, {});
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_TRUE(same->passed) << same->difference;
}

constexpr std::string_view neg_twice = R"(
rule neg_twice
  x : [m, n]
  Neg(Neg(x)) => x
)";

BacktrackingResult descended(const Graph& graph, std::string_view text,
                             const DescentOptions& options = {}) {
  const auto rules = parse_substitutions(text, "test.rules");
  EXPECT_TRUE(rules.has_value()) << rules.error().message;
  const auto compiled = compile_rules(*rules);
  EXPECT_TRUE(compiled.has_value()) << compiled.error().message;
  return descend(graph, *compiled, testing::cpu_costs(), options);
}

TEST(Descent, OneRoundTakesAllPlacesThatAreApart) {
  const Graph graph = chain({"Neg", "Neg", "Tanh", "Neg", "Neg"});
  const BacktrackingResult found = descended(graph, neg_twice, {.most_rounds = 1});
  EXPECT_EQ(found.path.size(), 2U);
  EXPECT_EQ(found.stop_reason, "rounds");
  EXPECT_LT(found.cost, found.cost_before);
  EXPECT_EQ(count(found.graph, "Neg("), 0U) << print_graph(found.graph);
  expect_same_function(graph, found.graph);
}

// Three in a row match at two places that share a node.
TEST(Descent, PlacesThatOverlapWaitForTheNextRound) {
  const Graph graph = chain({"Neg", "Neg", "Neg", "Neg", "Neg"});
  const BacktrackingResult found = descended(graph, neg_twice);
  EXPECT_EQ(found.stop_reason, "exhausted");
  EXPECT_EQ(found.path.size(), 2U);
  EXPECT_EQ(count(found.graph, "Neg("), 1U) << print_graph(found.graph);
  expect_same_function(graph, found.graph);
}

// Both rules match there; what the second one matched is gone, and the next round finds nothing.
TEST(Descent, WhatIsGoneIsNoChange) {
  const Graph graph = chain({"Neg", "Neg", "Relu"});
  constexpr std::string_view both = R"(
rule neg_twice
  x : [m, n]
  Neg(Neg(x)) => x

rule relu_of_neg_twice
  x : [m, n]
  Relu(Neg(Neg(x))) => Relu(x)
)";
  const BacktrackingResult found = descended(graph, both);
  EXPECT_EQ(found.stop_reason, "exhausted");
  EXPECT_EQ(found.path.size(), 1U);
  expect_same_function(graph, found.graph);
}

TEST(Descent, NothingIsDoneWhereThatIsTooMuch) {
  const Graph graph = chain({"Neg", "Neg"});
  const BacktrackingResult found = descended(graph, neg_twice, {.most_copied_nodes = 1});
  EXPECT_TRUE(found.path.empty());
  EXPECT_EQ(print_graph(found.graph), print_graph(graph));
}

TEST(Descent, WhatSavesNothingIsNotUsed) {
  const Graph graph = chain({"Relu"});
  const BacktrackingResult found = descended(graph, R"(
rule relu_twice
  x : [m, n]
  Relu(x) => Relu(Relu(x))
)");
  EXPECT_TRUE(found.path.empty());
  EXPECT_EQ(found.stop_reason, "exhausted");
}

}  // namespace
}  // namespace lemma
