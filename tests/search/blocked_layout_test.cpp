// The blocked layout of a runtime: what extraction makes of it, and that nothing of it is left in a result.

#include <gmock/gmock.h>

#include "check/sampled_check.h"
#include "ir/graph_text.h"
#include "ir/runtime_layout.h"
#include "rule_language/rule_roles.h"
#include "search/blocked_layout.h"
#include "search/optimize.h"
#include "search/rule_sets.h"
#include "search/rule_subset.h"
#include "tests/search/random_network.h"
#include "verifier/checker/explanation.h"

namespace lemma {
namespace {

using ::testing::Contains;
using ::testing::Not;

/// Three convolutions of one image are one with a Split behind it, which costs less but leaves the blocked layout.
constexpr const char* parallel_convolutions = R"(graph "g"
  input %0 "x" : f32[1, 64, 8, 8]
  %1 = ConstantOfShape{data_type=f32, shape=[32, 64, 1, 1], value=0.5}()
  %2 = ConstantOfShape{data_type=f32, shape=[32, 64, 1, 1], value=0.25}()
  %3 = ConstantOfShape{data_type=f32, shape=[32, 64, 1, 1], value=0.125}()
  %4 = Conv{strides=[1, 1], pads=[0, 0, 0, 0], dilations=[1, 1], group=1}(%0, %1)
  %5 = Conv{strides=[1, 1], pads=[0, 0, 0, 0], dilations=[1, 1], group=1}(%0, %2)
  %6 = Conv{strides=[1, 1], pads=[0, 0, 0, 0], dilations=[1, 1], group=1}(%0, %3)
  %7 = MaxPool{kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1]}(%4)
  %8 = AveragePool{kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1]}(%5)
  %9 = Sigmoid(%6)
  %10 = Add(%7, %8)
  %11 = Mul(%10, %9)
  output "y" = %11
)";

/// A mean over the axes of an image costs what a pool does, which the runtime knows in blocks.
constexpr const char* mean_between_convolutions = R"(graph "g"
  input %0 "x" : f32[1, 64, 28, 28]
  input %1 "k" : f32[64, 64, 3, 3]
  input %2 "v" : f32[32, 64, 1, 1]
  %3 = Conv{strides=[1, 1], pads=[1, 1, 1, 1], dilations=[1, 1], group=1}(%0, %1)
  %4 = Relu(%3)
  %5 = ReduceMean{axes=[2, 3], keepdims=1}(%4)
  %6 = Conv{strides=[1, 1], pads=[0, 0, 0, 0], dilations=[1, 1], group=1}(%5, %2)
  output "y" = %6
)";

std::vector<std::string> operators_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const NodeId id : graph.live_nodes())
    if (graph.node(id).kind == NodeKind::operation)
      names.emplace_back(graph.op(graph.node(id)).name);
  return names;
}

Graph graph_of(const char* text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().message;
  return std::move(*graph);
}

SearchResult found(const Graph& graph, bool has_layouts) {
  SearchOptions options;
  options.has_layouts = has_layouts;
  options.explain = true;
  options.node_limit = 1500;
  options.rounds = 2;
  options.time_limit_seconds = 120;
  options.strategy = Strategy::saturation;
  auto result = optimize(graph, testing::shipped_rules(), testing::cpu_costs(), options);
  EXPECT_TRUE(result) << result.error().message;
  return std::move(*result);
}

/// Everything that is said of a result holds, and nothing of the layout is in it.
void expect_equal_and_plain(const Graph& graph, const SearchResult& result) {
  for (const std::string& name : operators_of(result.graph))
    EXPECT_FALSE(is_of_layout(record(operator_named(name)))) << name;
  const auto same = compare_on_random_inputs(graph, result.graph, {.relative_tolerance = 1e-4});
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_TRUE(same->passed) << same->difference;
  if (!result.improved) return;
  checker::RuleTable proved;
  for (const Substitution& rule : testing::shipped_rules().substitutions())
    proved[rule.name] = &rule;
  const auto size = checker::check_explanation(result.explanation, proved);
  ASSERT_TRUE(size) << size.error().message;
  EXPECT_GT(size->steps, 0U);
}

TEST(BlockedLayout, WhatBreaksAChainIsNotTaken) {
  const Graph graph = graph_of(parallel_convolutions);
  EXPECT_THAT(operators_of(found(graph, false).graph), Contains("Split"));
  const SearchResult result = found(graph, true);
  EXPECT_THAT(operators_of(result.graph), Not(Contains("Split")));
  expect_equal_and_plain(graph, result);
}

TEST(BlockedLayout, WhatKeepsAChainIsTaken) {
  const Graph graph = graph_of(mean_between_convolutions);
  EXPECT_THAT(operators_of(found(graph, false).graph), Not(Contains("GlobalAveragePool")));
  const SearchResult result = found(graph, true);
  EXPECT_TRUE(result.improved);
  EXPECT_THAT(operators_of(result.graph), Contains("GlobalAveragePool"));
  expect_equal_and_plain(graph, result);
}

TEST(BlockedLayout, MovesCostAsOftenAsTheLayoutChanges) {
  const OperatorCosts costs = testing::cpu_costs();
  const Graph kept = graph_of(parallel_convolutions);
  const auto sets =
      rule_sets_for(kept, testing::shipped_rules().substitutions(), costs, {}, {}, true);
  ASSERT_TRUE(sets) << sets.error().message;
  const double plain = cost_of(kept, costs).seconds;
  const auto laid_out = seconds_laid_out(kept, sets->layouts, costs, 60);
  ASSERT_TRUE(laid_out) << laid_out.error().message;
  // One move in front of what is computed in blocks, and one behind it.
  const double moves = cost_of(graph_of(R"(graph "g"
  input %0 "x" : f32[1, 64, 8, 8]
  input %1 "y" : f32[1, 2, 8, 8, 16]
  %2 = BlockChannels(%0)
  %3 = UnblockChannels{channels=32}(%1)
  output "a" = %2
  output "b" = %3
)"),
                               costs)
                           .seconds;
  ASSERT_TRUE(*laid_out);
  EXPECT_NEAR(**laid_out, plain + moves, 1e-3 * moves);
}

TEST(BlockedLayout, ItsRulesAreForNoGraph) {
  std::size_t count = 0;
  for (const Substitution& rule : testing::shipped_rules().substitutions()) {
    if (!has_role(rule, RuleRole::layout)) continue;
    ++count;
    for (const char* runtime : {"", "onnxruntime", "another"})
      EXPECT_FALSE(is_for(rule, {runtime})) << rule.name;
  }
  EXPECT_GE(count, 20U);
}

TEST(BlockedLayout, IsNotAskedOfGraphsWithoutImages) {
  const Graph graph = graph_of(R"(graph "g"
  input %0 "x" : f32[8, 8]
  %1 = Relu(%0)
  output "y" = %1
)");
  const auto sets = rule_sets_for(graph, testing::shipped_rules().substitutions(),
                                  testing::cpu_costs(), {}, {}, true);
  ASSERT_TRUE(sets) << sets.error().message;
  EXPECT_TRUE(sets->layouts.compiled.empty());
}

}  // namespace
}  // namespace lemma
