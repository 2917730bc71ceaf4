// What one use of a rule makes of a graph, foretold and done.

#include "search/neighborhood.h"

#include <limits>

#include "check/sampled_check.h"
#include "ir/check.h"
#include "ir/graph_text.h"
#include "tests/search/random_network.h"

namespace lemma {
namespace {

constexpr double any_cost = std::numeric_limits<double>::infinity();

Neighborhood around(const Graph& graph, const std::vector<CompiledRule>& rules) {
  return neighborhood(graph, rules, testing::cpu_costs(), any_cost, {});
}

TEST(Neighborhood, CostAndHashAreThoseOfTheGraphThatResults) {
  std::size_t neighbors = 0, cheaper = 0, several_outputs = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Graph graph = testing::RandomNetwork(seed).make(16);
    const std::vector<CompiledRule> rules = testing::compiled_for(graph);
    const Neighborhood found = around(graph, rules);
    EXPECT_TRUE(found.complete);
    EXPECT_NEAR(found.cost, cost_of(graph, testing::cpu_costs()).seconds, 1e-9);
    for (std::size_t i = 0; i < found.neighbors.size(); ++i) {
      const Neighbor& neighbor = found.neighbors[i];
      const CompiledRule& rule = rules[neighbor.rewrite.rule];
      const auto made = rewritten(graph, rule, neighbor.rewrite);
      ASSERT_TRUE(made) << rule.rule.name << ": " << made.error().message;
      ASSERT_TRUE(check(*made, Stage::imported));
      const Neighborhood there = around(*made, {});
      EXPECT_NEAR(there.cost, neighbor.cost, 1e-12) << rule.rule.name << "\n" << print_graph(graph);
      EXPECT_EQ(there.hash, neighbor.hash) << rule.rule.name << "\n" << print_graph(graph);
      ++neighbors;
      cheaper += neighbor.cost < found.cost ? 1 : 0;
      several_outputs += neighbor.rewrite.left.size() > 1 ? 1 : 0;
      if (i % 7 != 0) continue;
      const auto same = compare_on_random_inputs(graph, *made, {.relative_tolerance = 1e-3});
      ASSERT_TRUE(same) << same.error().message;
      EXPECT_TRUE(same->passed) << rule.rule.name << ": " << same->difference;
    }
  }
  EXPECT_GT(neighbors, 500U);
  EXPECT_GT(cheaper, 20U);
  EXPECT_GT(several_outputs, 20U);
}

TEST(Neighborhood, DifferentGraphsHaveDifferentHashes) {
  const Graph graph = testing::RandomNetwork(3).make(16);
  const std::vector<CompiledRule> rules = testing::compiled_for(graph);
  std::map<std::uint64_t, std::string> met;
  for (const Neighbor& neighbor : around(graph, rules).neighbors) {
    const auto made = rewritten(graph, rules[neighbor.rewrite.rule], neighbor.rewrite);
    ASSERT_TRUE(made);
    // Other numbers of nodes are no difference, other counts of lines are.
    const std::string text = print_graph(*made);
    const auto [where, is_new] = met.emplace(neighbor.hash, text);
    if (!is_new) {
      EXPECT_EQ(std::count(where->second.begin(), where->second.end(), '\n'),
                std::count(text.begin(), text.end(), '\n'));
    }
  }
  EXPECT_GT(met.size(), 10U);
}

// The second product is computed from the first: merged they would need themselves.
TEST(Neighborhood, NothingIsMadeToNeedItself) {
  const auto graph = parse_graph(R"(graph "chain"
  input %0 "x" : f32[4, 4]
  input %1 "y" : f32[4, 4]
  %2 = MatMul(%0, %1)
  %3 = MatMul(%2, %1)
  output "z" = %3
)");
  ASSERT_TRUE(graph) << graph.error().message;
  const auto rules = parse_substitutions(R"(
rule join
  x : [m, k]
  y : [n, k]
  a : [k, p]
  let both = Split{axis=0, split=[m, n]}(MatMul(Concat{axis=0}(x, y), a))
  MatMul(x, a) & MatMul(y, a) => both#0 & both#1
)",
                                         "test.rules");
  ASSERT_TRUE(rules) << rules.error().message;
  const auto compiled = compile_rules(*rules);
  ASSERT_TRUE(compiled);
  EXPECT_TRUE(around(*graph, *compiled).neighbors.empty());
  Rewrite rewrite;
  rewrite.bindings = std::make_shared<const RuleBindings>();
  rewrite.inputs = {ValueId{0}, ValueId{2}, ValueId{1}};
  rewrite.left = {ValueId{2}, ValueId{3}};
  EXPECT_FALSE(rewritten(*graph, compiled->front(), rewrite));
}

}  // namespace
}  // namespace lemma
