// Every strategy gives a graph that is equal, no more expensive, the same every time, and explained.

#include <fmt/format.h>

#include "check/sampled_check.h"
#include "ir/graph_text.h"
#include "search/backtracking.h"
#include "search/optimize.h"
#include "tests/search/random_network.h"
#include "verifier/checker/explanation.h"

namespace lemma {
namespace {

constexpr Strategy strategies[] = {Strategy::saturation, Strategy::backtracking, Strategy::combined,
                                   Strategy::automatic};

SearchOptions small(Strategy strategy) {
  SearchOptions options;
  options.strategy = strategy;
  options.node_limit = 3000;
  options.part_node_limit = 1000;
  options.part_size = 12;
  options.budget = 40;
  options.explain = true;
  options.time_limit_seconds = 300;
  return options;
}

SearchResult found(const Graph& graph, const SearchOptions& options) {
  auto result = optimize(graph, testing::shipped_rules(), testing::cpu_costs(), options);
  EXPECT_TRUE(result) << name(options.strategy) << ": " << result.error().message;
  return std::move(*result);
}

checker::RuleTable all_rules() {
  checker::RuleTable table;
  for (const Substitution& rule : testing::shipped_rules().substitutions())
    table[rule.name] = &rule;
  return table;
}

/// The graphs on the way cost less and less, and the last one is the result.
void expect_cheaper_graphs(const SearchResult& result, const std::string& where) {
  CheaperGraph last{0, result.before.seconds};
  for (const CheaperGraph& graph : result.cheaper_graphs) {
    EXPECT_LT(graph.cost, last.cost) << where;
    EXPECT_GE(graph.seconds, last.seconds) << where;
    last = graph;
  }
  EXPECT_LE(last.seconds, result.seconds) << where;
  EXPECT_NEAR(last.cost, result.after.seconds, 1e-12) << where;
}

void expect_equal_graphs(std::uint64_t first_seed, std::uint64_t networks = 3,
                         std::size_t nodes = 30) {
  const checker::RuleTable proved = all_rules();
  std::map<Strategy, std::size_t> improved;
  for (std::uint64_t seed = first_seed; seed < first_seed + networks; ++seed) {
    const Graph graph = testing::RandomNetwork(seed).make(nodes);
    std::map<Strategy, double> cost;
    for (const Strategy strategy : strategies) {
      const std::string where = fmt::format("{} of network {}", name(strategy), seed);
      const SearchResult result = found(graph, small(strategy));
      EXPECT_LE(result.after.seconds, result.before.seconds) << where;
      EXPECT_NEAR(result.after.seconds, cost_of(result.graph, testing::cpu_costs()).seconds, 1e-12);
      const auto same = compare_on_random_inputs(graph, result.graph, {.relative_tolerance = 1e-3});
      ASSERT_TRUE(same) << same.error().message;
      EXPECT_TRUE(same->passed) << where << ": " << same->difference;
      const auto size = checker::check_explanation(result.explanation, proved);
      ASSERT_TRUE(size) << where << ": " << size.error().message;
      EXPECT_EQ(size->steps > 0, result.improved) << where;
      EXPECT_EQ(result.rules_used.empty(), !result.improved) << where;
      expect_cheaper_graphs(result, where);
      cost[strategy] = result.after.seconds;
      improved[strategy] += result.improved ? 1 : 0;
    }
    EXPECT_LE(cost[Strategy::automatic], cost[Strategy::saturation] + 1e-12) << seed;
    EXPECT_LE(cost[Strategy::saturation], cost[Strategy::backtracking] + 1e-12) << seed;
  }
  for (const Strategy strategy : strategies)
    EXPECT_GE(improved[strategy], (networks + 1) / 2) << name(strategy);
}

TEST(Strategies, GiveEqualGraphsThatCostNoMoreAndSayWhy) { expect_equal_graphs(0, 1, 8); }

// scripts/test --all
TEST(DISABLED_Strategies, GiveMoreEqualGraphs) {
  for (const std::uint64_t first : {0, 3, 6}) expect_equal_graphs(first);
}

TEST(Strategies, GiveTheSameEveryTime) {
  const Graph graph = testing::RandomNetwork(11).make(10);
  for (const Strategy strategy : strategies) {
    SearchOptions options = small(strategy);
    const std::string first = print_graph(found(graph, options).graph);
    options.fold.threads = 1;
    EXPECT_EQ(print_graph(found(graph, options).graph), first) << name(strategy);
  }
}

// Merging the factor that nobody else reads as well costs a little more than merging the other two.
TEST(Strategies, MergeOnlyTheProductsThatAreRead) {
  const auto graph = parse_graph(R"(graph "g"
  input %0 "x" : f32[1, 4]
  %1 = constant f32[4, 2] [1, 2, 3, 4, 5, 6, 7, 8]
  %2 = constant f32[2, 3] [1, -2, 3, 4, -5, 6]
  %3 = constant f32[2, 2] [2, 3, 5, 7]
  %4 = MatMul(%0, %1)
  %5 = MatMul(%4, %2)
  %6 = MatMul(%4, %3)
  output "y" = %5
  output "z" = %6
)");
  ASSERT_TRUE(graph) << graph.error().message;
  SearchOptions options = small(Strategy::backtracking);
  options.budget = 1000;
  const SearchResult walked = found(*graph, options);
  EXPECT_EQ(walked.stop_reason, "exhausted");
  const SearchResult saturated = found(*graph, small(Strategy::automatic));
  EXPECT_LE(saturated.after.seconds, walked.after.seconds * (1 + 1e-9));
}

TEST(Strategies, AreKnownByTheirNames) {
  for (const Strategy strategy : strategies) EXPECT_EQ(strategy_named(name(strategy)), strategy);
  EXPECT_FALSE(strategy_named("greedy"));
}

TEST(Strategies, AutoSaysWhichItTook) {
  const Graph graph = testing::RandomNetwork(5).make(90);
  SearchOptions options = small(Strategy::automatic);
  options.node_limit = 100;  // less than follows
  const SearchResult limited = found(graph, options);
  EXPECT_EQ(limited.strategy, Strategy::combined);
  EXPECT_GT(limited.parts, 1U);
  const Graph tiny = testing::RandomNetwork(5).make(3);
  EXPECT_EQ(found(tiny, small(Strategy::automatic)).strategy, Strategy::saturation);
}

TEST(Strategies, EndInTimeWithAValidGraph) {
  const Graph graph = testing::RandomNetwork(2).make(400);
  for (const Strategy strategy : strategies) {
    SearchOptions options = small(strategy);
    options.node_limit = options.part_node_limit = 10'000'000;
    options.budget = 1'000'000;
    options.explain = false;
    options.time_limit_seconds = 0.5;
    const SearchResult result = found(graph, options);
    EXPECT_LT(result.seconds, 100)
        << name(strategy);  // a machine may be loaded; without a limit it takes hours
    EXPECT_LE(result.after.seconds, result.before.seconds);
  }
}

TEST(Backtracking, FollowsItsPathAndItsBudget) {
  const Graph graph = testing::RandomNetwork(1).make(24);
  const std::vector<CompiledRule> rules = testing::compiled_for(graph);
  BacktrackingOptions options;
  options.budget = 15;
  const auto result = backtrack(graph, rules, testing::cpu_costs(), options);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_LE(result->graphs_taken_up, 15U);
  EXPECT_EQ(result->stop_reason, "budget");
  ASSERT_FALSE(result->path.empty());
  Graph now = graph;
  for (const BacktrackingResult::Step& step : result->path) {
    EXPECT_EQ(print_graph(now), print_graph(*step.graph));
    auto next = rewritten(now, rules[step.rewrite.rule], step.rewrite);
    ASSERT_TRUE(next);
    now = std::move(*next);
  }
  EXPECT_EQ(print_graph(now), print_graph(result->graph));
  options.budget = 60;
  const auto more = backtrack(graph, rules, testing::cpu_costs(), options);
  ASSERT_TRUE(more);
  EXPECT_LE(more->cost, result->cost);
}

TEST(RuleSubset, HoldsWhatCanCometoMatch) {
  const auto graph = parse_graph(R"(graph "g"
  input %0 "x" : f32[2, 3]
  %1 = Neg(%0)
  output "y" = %1
)");
  ASSERT_TRUE(graph);
  const auto rules = parse_substitutions(R"(
rule first
  x : [A..]
  Neg(x) => Tanh(x)

rule through_the_first
  x : [A..]
  Tanh(x) => Sigmoid(x)

rule backward
  x : [A..]
  Abs(x) = Sigmoid(x)

rule never
  x : [A..]
  Exp(x) => Neg(x)
)",
                                         "test.rules");
  ASSERT_TRUE(rules) << rules.error().message;
  std::vector<std::string> names;
  for (const Substitution& rule : relevant_rules(*graph, *rules)) names.push_back(rule.name);
  EXPECT_EQ(names, (std::vector<std::string>{"first", "through_the_first", "backward"}));
}

}  // namespace
}  // namespace lemma
