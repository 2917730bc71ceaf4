// Rules with free parameters, from a model to a cheaper one that is explained and computed: a device on which products
// of matrices take longer than products of batches, as where a matrix cannot fill all units.

#include <cctype>

#include <gtest/gtest.h>

#include "check/sampled_check.h"
#include "costmodel/graph_cost.h"
#include "ir/graph_text.h"
#include "rule_language/rule_database.h"
#include "search/neighborhood.h"
#include "search/optimize.h"
#include "verifier/checker/explanation.h"

namespace lemma {
namespace {

const std::vector<Substitution>& examples() {
  static const std::vector<Substitution> rules =
      *parse_substitutions(*read_text_file("examples/parallel.rules"), "examples/parallel.rules");
  return rules;
}

OperatorCosts costs_with_slow(std::string_view op, std::size_t rank) {
  Device device = *load_device("targets/devices/cpu.json");
  device.slow_forms = {{std::string(op), rank, 16}};
  return OperatorCosts(priced_by_roofline(std::move(device)));
}

Graph graph_of(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().message;
  return graph ? std::move(*graph) : Graph{};
}

constexpr std::string_view product = R"(graph "product"
  input %0 "x" : f32[512, 256]
  input %1 "w" : f32[256, 256]
  %2 = MatMul(%0, %1)
  %3 = Relu(%2)
  output "y" = %3
)";

constexpr std::string_view convolution = R"(graph "images"
  input %0 "x" : f32[8, 16, 32]
  %1 = Clip{max=1.0, min=-1.0}(%0)
  input %2 "v" : f32[16, 16, 3]
  %3 = Clip{max=1.0, min=-1.0}(%2)
  %4 = Conv{strides=[1], pads=[1, 1], dilations=[1], group=1}(%1, %3)
  output "y" = %4
)";

class FreeParameters : public ::testing::Test {
 protected:
  FreeParameters() {
    for (const Substitution& rule : examples()) table_[rule.name] = &rule;
  }

  SearchResult cheaper(std::string_view text, const OperatorCosts& costs, SearchOptions options) {
    const Graph graph = graph_of(text);
    options.explain = true;
    auto found = optimize(graph, RuleDatabase::without_proof(examples()), costs, options);
    EXPECT_TRUE(found) << found.error().message;
    EXPECT_TRUE(found->improved);
    const auto replayed = checker::check_explanation(found->explanation, table_);
    EXPECT_TRUE(replayed) << replayed.error().message << "\n" << found->explanation;
    const auto same = compare_on_random_inputs(graph, found->graph, {});
    EXPECT_TRUE(same && same->passed) << (same ? same->difference : same.error().message);
    return std::move(*found);
  }

  checker::RuleTable table_;
};

TEST_F(FreeParameters, DivideAProductIntoParts) {
  SearchOptions options;
  options.target_values = {3, 4};  // 3 divides nothing here
  const SearchResult found = cheaper(product, costs_with_slow("MatMul", 2), options);
  ASSERT_FALSE(found.rules_used.empty());
  bool has_batches = false;
  for (const NodeId id : found.graph.live_nodes()) {
    const Node& node = found.graph.node(id);
    if (node.kind == NodeKind::operation && found.graph.op(node).name == "MatMul")
      has_batches = found.graph.type(node.output()).shape->size() == 3;
  }
  EXPECT_TRUE(has_batches) << print_graph(found.graph);
}

TEST_F(FreeParameters, AreInExplanations) {
  SearchOptions options;
  options.target_values = {4};
  const SearchResult found = cheaper(product, costs_with_slow("MatMul", 2), options);
  const std::string& text = found.explanation;
  const std::size_t step = text.find("\nstep ");
  ASSERT_NE(step, std::string::npos) << text;
  const std::size_t value = text.find(", k=", step);
  ASSERT_NE(value, std::string::npos) << text;
  // Another number does not fit the terms, 0 and negative ones neither.
  const std::size_t end = text.find_first_of(",\n", value + 4);
  for (const char* other : {"0", "1", "3", "16", "-4", "512", "k"}) {
    std::string mutant = text;
    mutant.replace(value + 4, end - value - 4, other);
    if (mutant == text) continue;
    EXPECT_FALSE(checker::check_explanation(mutant, table_)) << mutant;
  }
}

TEST_F(FreeParameters, MergeImages) {
  const Graph graph = graph_of(convolution);
  std::vector<Substitution> merging;
  for (const Substitution& rule : examples())
    if (rule.name == "images_side_by_side") merging.push_back(rule);
  const auto compiled = compile_rules(merging);
  ASSERT_TRUE(compiled);
  const Neighborhood around = neighborhood(graph, *compiled, costs_with_slow("Conv", 3), 1e9, {});
  ASSERT_EQ(around.neighbors.size(), 2U);  // 2 and 4 images
  for (std::size_t i = 0; i < 2; ++i) {
    const Rewrite& rewrite = around.neighbors[i].rewrite;
    EXPECT_EQ(rewrite.bindings->dimensions.at("k"), Dimension(i == 0 ? 1 : 3));
    const auto made = rewritten(graph, compiled->front(), rewrite);
    ASSERT_TRUE(made) << made.error().message;
    const auto same = compare_on_random_inputs(graph, *made, {});
    EXPECT_TRUE(same && same->passed) << (same ? same->difference : same.error().message);
  }
}

TEST_F(FreeParameters, AreTriedByBacktrackingToo) {
  SearchOptions options;
  options.strategy = Strategy::backtracking;
  options.target_values = {2};
  const SearchResult found = cheaper(product, costs_with_slow("MatMul", 2), options);
  EXPECT_FALSE(found.rules_used.empty());
}

TEST_F(FreeParameters, MakeANeighborEach) {
  const Graph graph = graph_of(product);
  const auto compiled = compile_rules({{examples()[0]}});  // rows, by divisors
  ASSERT_TRUE(compiled);
  const Neighborhood around = neighborhood(graph, *compiled, costs_with_slow("MatMul", 2), 1e9, {});
  ASSERT_EQ(around.neighbors.size(), 8U);  // 2, 4, ... 256: divisors of 512 up to 256
  std::int64_t k = 1;
  for (const Neighbor& neighbor : around.neighbors) {
    k *= 2;
    EXPECT_EQ(neighbor.rewrite.bindings->dimensions.at("k"), Dimension(k));
    const auto made = rewritten(graph, compiled->front(), neighbor.rewrite);
    ASSERT_TRUE(made) << made.error().message;
    const Neighborhood there = neighborhood(*made, {}, costs_with_slow("MatMul", 2), 1e9, {});
    EXPECT_NEAR(there.cost, neighbor.cost, 1e-12);
  }
}

// The rules that wait for values of the target are not applied without.
TEST_F(FreeParameters, OfATargetWithoutValuesGiveNothing) {
  std::vector<Substitution> waiting;
  for (const Substitution& rule : examples())
    if (rule.free[0].source == FreeParameter::Source::target) waiting.push_back(rule);
  ASSERT_GE(waiting.size(), 2U);
  const auto found = optimize(graph_of(product), RuleDatabase::without_proof(waiting),
                              costs_with_slow("MatMul", 2), {});
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->improved);
}

}  // namespace
}  // namespace lemma
