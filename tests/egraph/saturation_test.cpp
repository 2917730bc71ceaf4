#include "egraph/saturation.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/egraph/helpers.h"

namespace lemma {
namespace {

using testing::graph_of;
using testing::rules_of;
using testing::sum_of;
using testing::unlimited;

std::size_t sum_nodes(int n) {
  return static_cast<std::size_t>(std::pow(3, n) - std::pow(2, n + 1) + 1 + n);
}

TEST(Saturation, SumsHaveTheExactNumberOfNodes) {
  // Every set of at least two variables is a class; its nodes are the ordered ways to divide it.
  const auto rules = rules_of(testing::sum_rules);
  for (int n = 4; n <= 8; ++n) {
    EGraph egraph;
    egraph.add_graph(sum_of(n));
    const SaturationReport report = saturate(egraph, rules, unlimited());
    EXPECT_EQ(report.stop, StopReason::saturated);
    EXPECT_EQ(egraph.node_count(), sum_nodes(n)) << n;
    EXPECT_EQ(egraph.class_count(), (1U << n) - 1) << n;
    const auto sound = egraph.check_invariants();
    EXPECT_TRUE(sound) << sound.error().message;
  }
}

TEST(Saturation, WhatIsThereAlreadyIsNoMatch) {
  const auto rules = rules_of(testing::sum_rules);
  EGraph egraph;
  egraph.add_graph(sum_of(5));
  saturate(egraph, rules, unlimited());
  const std::size_t ids = egraph.id_count();
  const SaturationReport again = saturate(egraph, rules, unlimited());
  EXPECT_EQ(again.stop, StopReason::saturated);
  EXPECT_EQ(again.iterations, 1U);
  EXPECT_EQ(egraph.id_count(), ids);
  for (const RuleStatistics& rule : again.rules) EXPECT_EQ(rule.matches, 0U);
}

TEST(Saturation, OutputsThatShareNothingArePairedByForm) {
  // Three pairs of 8x8 products; the fourth product goes with none of the others.
  const auto rules = rules_of(R"(
rule join_batched_matmuls
  x : [b, m, k]
  y : [c, m, k]
  z : [b, k, n]
  w : [c, k, n]
  let both = Split{axis=0, split=[b, c]}(MatMul(Concat{axis=0}(x, y), Concat{axis=0}(z, w)))
  MatMul(x, z) & MatMul(y, w) => both#0 & both#1
)");
  Graph graph;
  const auto input = [&graph](const std::string& name, Shape shape) {
    return *graph.add_input(name, {DataType::f32, std::move(shape)});
  };
  for (int i = 0; i < 4; ++i) {
    const std::string number = std::to_string(i);
    const std::int64_t size = i == 3 ? 5 : 8;
    const ValueId x = input("x" + number, {i + 1, size, size});
    const ValueId y = input("y" + number, {i + 1, size, size});
    ASSERT_TRUE(graph.add_output("p" + number, *graph.add("MatMul", {x, y})));
  }
  EGraph egraph;
  egraph.add_graph(graph);
  SaturationLimits limits = unlimited();
  limits.iterations = 1;
  const SaturationReport report = saturate(egraph, rules, limits);
  EXPECT_EQ(report.rules[0].matches, 3U) << "each pair one way round";
  EXPECT_EQ(report.rules[0].rejected, 0U) << "the odd one is not tried with each of the others";
  const auto sound = egraph.check_invariants();
  EXPECT_TRUE(sound) << sound.error().message;
}

TEST(Saturation, RestingRulesCatchUp) {
  const auto rules = rules_of(testing::sum_rules);
  EGraph egraph;
  egraph.add_graph(sum_of(7));
  SaturationLimits limits = unlimited();
  limits.match_limit = 40;
  const SaturationReport report = saturate(egraph, rules, limits);
  EXPECT_EQ(report.stop, StopReason::saturated);
  EXPECT_EQ(egraph.node_count(), sum_nodes(7));
  EXPECT_GT(report.rules[0].rests + report.rules[1].rests + report.rules[2].rests, 0U);
}

TEST(Saturation, LimitsHold) {
  const auto rules = rules_of(testing::sum_rules);
  EGraph nodes;
  nodes.add_graph(sum_of(10));
  SaturationLimits limits = unlimited();
  limits.node_limit = 500;
  EXPECT_EQ(saturate(nodes, rules, limits).stop, StopReason::nodes);
  EXPECT_LE(nodes.node_count(), 502U);
  EXPECT_GT(nodes.id_count(), 499U);
  EXPECT_TRUE(nodes.check_invariants());

  EGraph iterations;
  iterations.add_graph(sum_of(10));
  limits = unlimited();
  limits.iterations = 2;
  const SaturationReport report = saturate(iterations, rules, limits);
  EXPECT_EQ(report.stop, StopReason::iterations);
  EXPECT_EQ(report.iterations, 2U);

  EGraph time;
  time.add_graph(sum_of(16));
  limits = unlimited();
  limits.time_limit_seconds = 0.3;
  const SaturationReport timed = saturate(time, rules, limits);
  EXPECT_EQ(timed.stop, StopReason::time);
  EXPECT_LT(timed.seconds, 5);
  EXPECT_TRUE(time.check_invariants());

  EGraph memory;
  memory.add_graph(sum_of(12));
  limits = unlimited();
  limits.memory_limit_bytes = 1'000'000;
  EXPECT_EQ(saturate(memory, rules, limits).stop, StopReason::memory);
  limits = unlimited();
  limits.cancelled = [] { return true; };
  EXPECT_EQ(saturate(memory, rules, limits).stop, StopReason::cancelled);
}

/// All nodes with canonical children, for comparing runs.
std::string dump(const EGraph& egraph) {
  std::string result;
  for (std::uint32_t i = 0; i < egraph.id_count(); ++i) {
    const ENodeId id{i};
    const ENode& node = egraph.node(id);
    result += std::to_string(egraph.find(id.founded()).v) + ":" + std::to_string(node.payload) +
              (node.duplicate ? "d" : "") + "(";
    for (const ClassId child : egraph.children(id)) result += std::to_string(child.v) + " ";
    result += ")\n";
  }
  return result;
}

TEST(Saturation, TwoRunsDoTheSame) {
  const auto rules = rules_of(testing::sum_rules);
  std::string first;
  for (int run = 0; run < 2; ++run) {
    EGraph egraph;
    egraph.add_graph(sum_of(7));
    SaturationLimits limits = unlimited();
    limits.match_limit = 100;
    limits.node_limit = 1500;
    saturate(egraph, rules, limits);
    if (run == 0) first = dump(egraph);
    EXPECT_EQ(dump(egraph), first);
  }
}

TEST(Saturation, ThreadsDoNotMatter) {
  const auto rules = rules_of(testing::sum_rules);
  std::string first;
  for (const std::size_t threads : {1U, 2U, 5U}) {
    EGraph egraph;
    egraph.add_graph(sum_of(9));  // 18,000 nodes: several tasks for a rule
    SaturationLimits limits = unlimited();
    limits.threads = threads;
    const SaturationReport report = saturate(egraph, rules, limits);
    EXPECT_EQ(report.stop, StopReason::saturated);
    if (threads == 1) first = dump(egraph);
    EXPECT_EQ(dump(egraph), first) << threads;
  }
  EXPECT_GT(first.size(), 100'000U);
}

TEST(Saturation, RulesDivideWhatOneRoundMayAdd) {
  // Associativity alone would fill the e-graph long before a chain of the other rule has grown.
  const auto rules = rules_of(std::string(testing::sum_rules) + R"(
rule grow
  x : [S..]
  Relu(x) => Relu(Exp(x))
)");
  Graph graph = sum_of(10);
  const ValueId sum = graph.outputs()[0].value;
  ASSERT_TRUE(graph.add_output("positive", *graph.add("Relu", {sum})));
  const auto grown = [&](double growth) {
    EGraph egraph;
    egraph.add_graph(graph);
    SaturationLimits limits = unlimited();
    limits.node_limit = 600;
    limits.growth = growth;
    const SaturationReport report = saturate(egraph, rules, limits);
    EXPECT_LE(egraph.node_count(), 604U);
    EXPECT_TRUE(egraph.check_invariants());
    return report.rules.back().applications;
  };
  EXPECT_LT(grown(1), 6U);
  EXPECT_GE(grown(0.5), 6U);
}

constexpr std::string_view merge_rule = R"(
rule merge_matmul_shared_left
  x : [B.., m, k]
  weight a : [k, n]
  weight b : [k, p]
  let both = Split{axis=-1, split=[n, p]}(MatMul(x, Concat{axis=-1}(a, b)))
  MatMul(x, a) & MatMul(x, b) => both#0 & both#1
)";

constexpr std::string_view two_matmuls = R"(graph "g"
  input %0 "x" : f32[2, 3]
  input %1 "z" : f32[3, 4]
  %2 = constant f32[3, 1] [1, 2, 3]
  %3 = constant f32[3, 2] [1, 2, 3, 4, 5, 6]
  %4 = MatMul(%0, %2) : f32[2, 1]
  %5 = MatMul(%0, %3) : f32[2, 2]
  %6 = MatMul(%0, %1) : f32[2, 4]
  output "p" = %4
  output "q" = %5
  output "r" = %6
)";

TEST(Saturation, SeveralOutputsAreJoinedAtWhatTheyShare) {
  const auto rules = rules_of(merge_rule);
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_TRUE(rules[0].symmetric);
  EGraph egraph;
  const auto values = egraph.add_graph(graph_of(two_matmuls));
  SaturationLimits limits = unlimited();
  limits.multi_output_iterations = 1;
  limits.log_applications = true;
  const SaturationReport report = saturate(egraph, rules, limits);
  EXPECT_EQ(report.rules[0].matches, 1U) << "the product with an input is no weight";
  EXPECT_EQ(report.rules[0].applications, 1U);
  for (const std::uint32_t v : {4U, 5U}) {
    const auto& nodes = egraph.nodes(egraph.find(values[v]));
    ASSERT_EQ(nodes.size(), 2U);
    EXPECT_EQ(egraph.node(nodes[1]).kind, ENodeKind::projection);
  }
  ASSERT_EQ(report.log.size(), 1U);
  const auto list = [](std::span<const ClassId> ids) {
    return std::vector<ClassId>(ids.begin(), ids.end());
  };
  EXPECT_EQ(list(report.log[0].left), (std::vector<ClassId>{values[4], values[5]}));
  EXPECT_EQ(list(report.log[0].inputs), (std::vector<ClassId>{values[0], values[2], values[3]}));
  EXPECT_TRUE(report.log[0].bindings.dimensions.at("p").is(2));
  EXPECT_TRUE(egraph.check_invariants());
}

TEST(Saturation, ManyProductsAreMergedByPairs) {
  const auto rules = rules_of(merge_rule);
  Graph graph;
  const ValueId x = *graph.add_input("x", {DataType::f32, Shape{2, 3}});
  for (int i = 0; i < 8; ++i) {
    const ValueId weight = graph.add_constant(
        Constant::of<float>(DataType::f32, {3, 1}, {static_cast<float>(i), 2, 3}));
    ASSERT_TRUE(graph.add_output("y" + std::to_string(i), *graph.add("MatMul", {x, weight})));
  }
  const auto largest_product = [&](std::size_t matches, std::size_t& nodes) {
    EGraph egraph;
    egraph.add_graph(graph);
    SaturationLimits limits = unlimited();
    limits.multi_output_iterations = 3;
    limits.multi_output_matches = matches;
    limits.node_limit = 2000;
    saturate(egraph, rules, limits);
    EXPECT_TRUE(egraph.check_invariants());
    nodes = egraph.node_count();
    std::int64_t largest = 0;
    for (std::uint32_t i = 0; i < egraph.id_count(); ++i)
      if (egraph.node(ENodeId{i}).op == operator_named("MatMul"))
        largest = std::max(largest, *(*egraph.type(ClassId{i}).shape)[1].constant());
    return largest;
  };
  std::size_t by_pairs = 0, all = 0;
  EXPECT_EQ(largest_product(1, by_pairs), 8);
  largest_product(0, all);
  EXPECT_LT(by_pairs, 150U);
  EXPECT_GE(all, 2000U);
}

TEST(Saturation, MatchesOfSeveralOutputsBack) {
  // The other way: a rule whose left side reads both outputs of one node.
  const auto rules = rules_of(R"(
rule concat_of_split
  x : [n + p, m]
  let parts = Split{axis=0, split=[n, p]}(x)
  Concat{axis=0}(parts#0, parts#1) => Identity(x)
)");
  EGraph egraph;
  const auto values = egraph.add_graph(graph_of(R"(graph "g"
  input %0 "x" : f32[5, 3]
  %1, %2 = Split{axis=0, split=[2, 3]}(%0) : f32[2, 3], f32[3, 3]
  %3 = Concat{axis=0}(%1, %2) : f32[5, 3]
  %4 = Concat{axis=0}(%2, %1) : f32[5, 3]
  output "y" = %3
  output "z" = %4
)"));
  const SaturationReport report = saturate(egraph, rules, unlimited());
  EXPECT_EQ(report.rules[0].applications, 1U);
  EXPECT_EQ(egraph.nodes(egraph.find(values[3])).size(), 2U);
  EXPECT_EQ(egraph.nodes(egraph.find(values[4])).size(), 1U);
}

TEST(Saturation, ClassesMayContainThemselves) {
  const auto rules = rules_of(R"(
rule neg_neg
  x : [S..]
  Neg(Neg(x)) => Identity(x)

rule identity
  x : [S..]
  Identity(x) => x
)");
  EGraph egraph;
  const auto values = egraph.add_graph(graph_of(R"(graph "g"
  input %0 "x" : f32[4]
  %1 = Neg(%0) : f32[4]
  %2 = Neg(%1) : f32[4]
  %3 = Neg(%2) : f32[4]
  %4 = Identity(%3) : f32[4]
  output "y" = %4
)"));
  const SaturationReport report = saturate(egraph, rules, unlimited());
  EXPECT_EQ(report.stop, StopReason::saturated);
  EXPECT_EQ(egraph.find(values[2]), values[0]);
  EXPECT_EQ(egraph.find(values[4]), values[1]);
  EXPECT_EQ(egraph.class_count(), 2U);
  EXPECT_TRUE(egraph.check_invariants());
}

TEST(Saturation, IllTypedRightSidesAreDropped) {
  // Wrong on purpose: the right side has another type, or none.
  const auto rules = rules_of(R"(
rule other_type
  x : [n, m]
  Relu(x) => Transpose{perm=[1, 0]}(x)

rule no_type
  x : [n, m]
  Relu(x) => MatMul(x, x)
)");
  EGraph egraph;
  const auto values = egraph.add_graph(graph_of(R"(graph "g"
  input %0 "x" : f32[4, 3]
  %1 = Relu(%0) : f32[4, 3]
  output "y" = %1
)"));
  const SaturationReport report = saturate(egraph, rules, unlimited());
  EXPECT_EQ(report.rules[0].dropped, 1U);
  EXPECT_EQ(report.rules[1].dropped, 1U);
  EXPECT_EQ(egraph.nodes(values[1]).size(), 1U);
  EXPECT_EQ(report.stop, StopReason::saturated);
}

TEST(Saturation, BareInputsOnTheLeftAreRefused) {
  const auto parsed = parse_substitutions("rule r\n  x : [n]\n  x => Relu(x)\n", "test.rules");
  ASSERT_TRUE(parsed);
  const auto compiled = compile_rules(*parsed);
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().message, "r: the left side is the bare input 'x'");
}

TEST(Saturation, TheRuleDatabaseCompiles) {
  std::size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator("rules/substitutions")) {
    if (file.path().extension() != ".rules") continue;
    std::ifstream stream(file.path());
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const auto parsed = parse_substitutions(text, file.path().string());
    ASSERT_TRUE(parsed) << parsed.error().message;
    const auto compiled = compile_rules(*parsed);
    EXPECT_TRUE(compiled) << file.path() << ": " << compiled.error().message;
    count += compiled ? compiled->size() : 0;
  }
  EXPECT_GT(count, 40U);
}

}  // namespace
}  // namespace lemma
