#include "egraph/extraction.h"

#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "egraph/local_search.h"
#include "egraph/to_graph.h"
#include "ir/check.h"
#include "tests/egraph/helpers.h"

namespace lemma {
namespace {

using testing::graph_of;
using testing::rules_of;
using testing::unlimited;

/// Each operation costs what the table says, 1 if it says nothing; what depends on weights only is
/// free.
NodeCost costs(std::map<std::string, double, std::less<>> table) {
  return [table = std::move(table)](const EGraph& egraph, ENodeId id) {
    const ENode& node = egraph.node(id);
    if (node.kind != ENodeKind::operation || egraph.weight_only(id)) return 0.0;
    const auto found = table.find(record(node.op).name);
    return found != table.end() ? found->second : 1.0;
  };
}

struct Optimized {
  Graph graph;
  double before = 0, after = 0;
};

Optimized optimize(const Graph& graph, std::string_view rules, const NodeCost& cost) {
  EGraph egraph;
  egraph.add_graph(graph);
  saturate(egraph, rules_of(rules), unlimited());
  const std::vector<ClassId> roots = output_classes(egraph);
  const Selection initial = original_selection(egraph, roots, cost);
  const auto selection = extract(egraph, roots, cost, initial);
  EXPECT_TRUE(selection) << selection.error().message;
  const auto valid = validate(egraph, roots, cost, *selection);
  EXPECT_TRUE(valid) << valid.error().message;
  auto result = to_graph(egraph, *selection);
  EXPECT_TRUE(result) << result.error().message;
  const auto sound = check(*result, Stage::optimized);
  EXPECT_TRUE(sound) << sound.error().message;
  return {std::move(*result), initial.cost, selection->cost};
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
  %1 = constant f32[3, 1] [1, 2, 3]
  %2 = constant f32[3, 2] [1, 2, 3, 4, 5, 6]
  %3 = MatMul(%0, %1) : f32[2, 1]
  %4 = MatMul(%0, %2) : f32[2, 2]
  %5 = Relu(%4) : f32[2, 2]
  output "p" = %3
  output "q" = %5
)";

TEST(Extraction, MergedProductsAreChosenWhenTheyPay) {
  const auto cheaper = optimize(graph_of(two_matmuls), merge_rule,
                                costs({{"MatMul", 10}, {"Split", 2}, {"Relu", 1}}));
  EXPECT_EQ(cheaper.before, 21);
  EXPECT_EQ(cheaper.after, 13);
  EXPECT_EQ(print_graph(cheaper.graph), R"(graph "g"
  input %0 "x" : f32[2, 3]
  %1 = constant f32[3, 1] [1, 2, 3]
  %2 = constant f32[3, 2] [1, 2, 3, 4, 5, 6]
  %3 = Concat{axis=1}(%1, %2) : f32[3, 3]
  %4 = MatMul(%0, %3) : f32[2, 3]
  %5, %6 = Split{axis=1, split=[1, 2]}(%4) : f32[2, 1], f32[2, 2]
  %7 = Relu(%6) : f32[2, 2]
  output "p" = %5
  output "q" = %7
)");
  const auto unmerged = optimize(graph_of(two_matmuls), merge_rule,
                                 costs({{"MatMul", 10}, {"Split", 11}, {"Relu", 1}}));
  EXPECT_EQ(unmerged.after, 21);
  EXPECT_EQ(print_graph(unmerged.graph), print_graph(graph_of(two_matmuls)));
}

TEST(Extraction, FourProductsAreMergedIntoOne) {
  // Two merges of two do not pay, one of four does: the moves must be made together.
  std::string text = "graph \"g\"\n  input %0 \"x\" : f32[2, 3]\n";
  for (int i = 0; i < 4; ++i)
    text +=
        "  %" + std::to_string(i + 1) + " = constant f32[3, 1] [" + std::to_string(i) + ", 2, 3]\n";
  for (int i = 0; i < 4; ++i)
    text += "  %" + std::to_string(i + 5) + " = MatMul(%0, %" + std::to_string(i + 1) +
            ") : f32[2, 1]\n";
  for (int i = 0; i < 4; ++i)
    text += "  output \"y" + std::to_string(i) + "\" = %" + std::to_string(i + 5) + "\n";
  const auto result = optimize(graph_of(text), merge_rule, costs({{"MatMul", 10}, {"Split", 9.5}}));
  EXPECT_EQ(result.before, 40);
  EXPECT_EQ(result.after, 38.5);
}

TEST(Extraction, SharedNodesCountOnce) {
  // As a tree the product is more expensive than Tanh; but Exp is needed anyway. (The rule is nonsense.)
  const auto result = optimize(graph_of(R"(graph "g"
  input %0 "x" : f32[4]
  %1 = Exp(%0) : f32[4]
  %2 = Tanh(%0) : f32[4]
  output "e" = %1
  output "t" = %2
)"),
                               R"(
rule nonsense
  x : [S..]
  Tanh(x) => Mul(Exp(x), Exp(x))
)",
                               costs({{"Exp", 100}, {"Mul", 4}, {"Tanh", 50}}));
  EXPECT_EQ(result.before, 150);
  EXPECT_EQ(result.after, 104);
}

TEST(Extraction, ClassesThatContainThemselvesGiveNoCycle) {
  const auto result = optimize(graph_of(R"(graph "g"
  input %0 "x" : f32[4]
  %1 = Relu(%0) : f32[4]
  %2 = Neg(%1) : f32[4]
  %3 = Neg(%2) : f32[4]
  %4 = Neg(%3) : f32[4]
  output "y" = %4
)"),
                               R"(
rule neg_neg
  x : [S..]
  Neg(Neg(x)) => Identity(x)
rule identity
  x : [S..]
  Identity(x) => x
)",
                               costs({{"Neg", 0}, {"Identity", 0}, {"Relu", 1}}));
  EXPECT_EQ(result.after, 1);
  EXPECT_EQ(result.graph.node_count(), 3U) << print_graph(result.graph);
}

TEST(Extraction, ForbiddenNodesAreAvoidedAndMissed) {
  EGraph egraph;
  egraph.add_graph(graph_of(two_matmuls));
  const auto roots = output_classes(egraph);
  const auto forbid = costs({{"MatMul", std::numeric_limits<double>::infinity()}});
  const auto result = extract_greedy(egraph, roots, forbid);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("finite cost"), std::string::npos);
}

TEST(Extraction, ValidateFindsFaults) {
  EGraph egraph;
  const auto values = egraph.add_graph(graph_of(two_matmuls));
  const auto roots = output_classes(egraph);
  const auto cost = costs({});
  const Selection good = original_selection(egraph, roots, cost);
  EXPECT_TRUE(validate(egraph, roots, cost, good));
  Selection bad = good;
  bad.cost -= 1;
  EXPECT_FALSE(validate(egraph, roots, cost, bad));
  bad = good;
  bad.node_of[values[4].v] = ENodeId::none();
  EXPECT_EQ(validate(egraph, roots, cost, bad).error().message,
            "class " + std::to_string(values[4].v) + " has no node");
  bad = good;
  bad.node_of[values[4].v] = {values[3].v};
  EXPECT_FALSE(validate(egraph, roots, cost, bad));
  // A cycle: Relu(%4) = %4 is made true, and chosen for itself.
  ASSERT_TRUE(egraph.unite(values[4], values[5]));
  egraph.rebuild();
  bad = original_selection(egraph, roots, cost);
  EXPECT_TRUE(validate(egraph, roots, cost, bad));
  bad.node_of[values[4].v] = {values[5].v};
  EXPECT_NE(validate(egraph, roots, cost, bad).error().message.find("depends on itself"),
            std::string::npos);
}

// ---- Random e-graphs --------------------------------------------------------------------------

struct RandomCase {
  EGraph egraph;
  std::vector<ClassId> roots;
  std::vector<double> cost;
};

/// Nonsense equalities between random terms: many cycles, zero costs and shared classes.
RandomCase random_case(std::uint64_t seed, int terms) {
  std::mt19937_64 random(seed);
  const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  RandomCase result;
  Graph graph;
  std::vector<ValueId> values = {*graph.add_input("x", {DataType::f32, Shape{4}})};
  constexpr std::array unary = {"Relu", "Neg", "Exp", "Abs", "Tanh"};
  constexpr std::array binary = {"Add", "Mul", "Sub"};
  for (int i = 0; i < terms; ++i) {
    const ValueId a = values[below(values.size())], b = values[below(values.size())];
    if (below(8) == 0)
      values.push_back(
          graph
              .node(*graph.add_operation(operator_named("Split"), {a},
                                         {{"axis", std::int64_t{0}}, {"split", Shape{4, 0}}}, 2))
              .output());
    else if (below(2) == 0)
      values.push_back(*graph.add(unary[below(unary.size())], {a}));
    else
      values.push_back(*graph.add(binary[below(binary.size())], {a, b}));
  }
  for (std::size_t i = 0; i < values.size(); ++i)  // so that all of them are added
    EXPECT_TRUE(graph.add_output("y" + std::to_string(i), values[i]));
  const auto classes = result.egraph.add_graph(graph);
  for (int i = 0; i < terms / 2; ++i) {
    const ClassId a = classes[values[below(values.size())].v];
    const ClassId b = classes[values[below(values.size())].v];
    if (a.is_none() || b.is_none()) continue;
    EXPECT_TRUE(result.egraph.unite(a, b));
  }
  result.egraph.rebuild();
  const std::vector<ClassId> outputs = output_classes(result.egraph);
  result.roots.assign(outputs.end() - 2, outputs.end());
  for (std::size_t i = 0; i < result.egraph.id_count(); ++i)
    result.cost.push_back(static_cast<double>(below(5)));
  return result;
}

/// The cheapest selection by trying all of them.
double optimum(const RandomCase& c, const NodeCost& cost) {
  std::vector<ClassId> classes;
  for (std::uint32_t i = 0; i < c.egraph.id_count(); ++i)
    if (c.egraph.find({i}).v == i) classes.push_back({i});
  std::vector<std::size_t> digit(classes.size(), 0);
  double best = std::numeric_limits<double>::infinity();
  while (true) {
    std::vector<ENodeId> node_of(c.egraph.id_count());
    for (std::size_t i = 0; i < classes.size(); ++i)
      node_of[classes[i].v] = c.egraph.nodes(classes[i])[digit[i]];
    if (const auto order = topological_order(c.egraph, c.roots, node_of)) {
      double total = 0;
      for (const ClassId id : *order) total += cost(c.egraph, node_of[id.v]);
      best = std::min(best, total);
    }
    std::size_t i = 0;
    while (i < digit.size() && ++digit[i] == c.egraph.nodes(classes[i]).size()) digit[i++] = 0;
    if (i == digit.size()) return best;
  }
}

TEST(Extraction, RandomGraphsAgainstTheOptimum) {
  int cases = 0, optimal = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const RandomCase c = random_case(seed, 16);
    const NodeCost cost = [&c](const EGraph&, ENodeId id) { return c.cost[id.v]; };
    double choices = 1;
    for (std::uint32_t i = 0; i < c.egraph.id_count(); ++i)
      if (c.egraph.find({i}).v == i) choices *= static_cast<double>(c.egraph.nodes({i}).size());
    ASSERT_TRUE(c.egraph.check_invariants()) << "seed " << seed;
    if (choices < 20 || choices > 20000) continue;
    const Selection initial = original_selection(c.egraph, c.roots, cost);
    const auto result = extract(c.egraph, c.roots, cost, initial);
    ASSERT_TRUE(result) << "seed " << seed << ": " << result.error().message;
    const auto valid = validate(c.egraph, c.roots, cost, *result);
    ASSERT_TRUE(valid) << "seed " << seed << ": " << valid.error().message;
    EXPECT_LE(result->cost, initial.cost) << "seed " << seed;
    const double best = optimum(c, cost);
    EXPECT_GE(result->cost, best - 1e-9) << "seed " << seed;
    ++cases;
    optimal += result->cost <= best + 1e-9 ? 1 : 0;
  }
  RecordProperty("cases", cases);
  RecordProperty("optimal", optimal);
  EXPECT_GT(cases, 100);
  EXPECT_GE(optimal * 100, cases * 90) << optimal << " of " << cases;
}

TEST(Extraction, LargerRandomGraphsAreValid) {
  for (std::uint64_t seed = 1000; seed < 1040; ++seed) {
    const RandomCase c = random_case(seed, 600);
    const NodeCost cost = [&c](const EGraph&, ENodeId id) { return c.cost[id.v]; };
    const Selection initial = original_selection(c.egraph, c.roots, cost);
    const auto result = extract(c.egraph, c.roots, cost, initial);
    ASSERT_TRUE(result) << "seed " << seed << ": " << result.error().message;
    const auto valid = validate(c.egraph, c.roots, cost, *result);
    ASSERT_TRUE(valid) << "seed " << seed << ": " << valid.error().message;
    EXPECT_LE(result->cost, initial.cost) << "seed " << seed;
    const auto again = extract(c.egraph, c.roots, cost, initial);
    EXPECT_EQ(again->node_of, result->node_of) << "seed " << seed;
  }
}

// ---- Round trips ------------------------------------------------------------------------------

Graph round_trip(const Graph& graph) {
  EGraph egraph;
  egraph.add_graph(graph);
  const auto roots = output_classes(egraph);
  const auto cost = costs({});
  const auto result = to_graph(egraph, original_selection(egraph, roots, cost));
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : Graph{};
}

TEST(ToGraph, UnchangedGraphsComeBackAsTheyWere) {
  constexpr std::string_view text = R"(graph "everything"
  input %0 "x" : f32[N, 4]
  input %1 "unused" : i64[2]
  %2 = constant f32[4] [1, 2, 3, 4]
  %3 = Add(%0, %2) : f32[N, 4]
  %4 = opaque "com.example" "Print" "bytes" "unknown" (%3, none) : f32[N, 4]
  %5, %6 = opaque "com.example" "Random" "bytes" "unknown" (%0) : f32[?], f32[N, 4]
  %7 = opaque "com.example" "Random" "bytes" "unknown" (%0) : f32[N, 4]
  input %8 "late" : f32[N, 4]
  %9, %10 = Split{axis=1, split=[1, 3]}(%4) : f32[N, 1], f32[N, 3]
  %11 = Mul(%9, %8) : f32[N, 4]
  %12 = Add(%7, %6) : f32[N, 4]
  output "a" = %11
  output "b" = %12
  output "again" = %12
  output "direct" = %0
)";
  const Graph graph = graph_of(text);
  const Graph back = round_trip(graph);
  EXPECT_EQ(print_graph(back), print_graph(graph));
  EXPECT_EQ(print_graph(graph), text);
}

TEST(ToGraph, NamesStayAndConstantsAreShared) {
  Graph graph;
  const ValueId x = *graph.add_input("x", {DataType::f32, Shape{2}});
  const Constant weights = Constant::of<float>(DataType::f32, {2}, {1, 2});
  const ValueId sum = *graph.add("Add", {x, graph.add_constant(weights)});
  graph.suggest_name(sum, "the sum");
  ASSERT_TRUE(graph.add_output("y", sum));
  const Graph back = round_trip(graph);
  const ValueId output = back.outputs()[0].value;
  EXPECT_EQ(back.suggested_name(output), "the sum");
  const ValueId operand = back.node(back.producer(output)).inputs[1];
  EXPECT_EQ(back.constant_of(operand)->bytes().data(), weights.bytes().data());
}

TEST(ToGraph, DeepGraphsComeBack) {
  Graph graph;
  ValueId x = *graph.add_input("x", {DataType::f32, Shape{2}});
  for (int i = 0; i < 100'000; ++i) x = *graph.add(i % 2 == 0 ? "Relu" : "Neg", {x});
  ASSERT_TRUE(graph.add_output("y", x));
  EGraph egraph;
  egraph.add_graph(graph);
  const auto roots = output_classes(egraph);
  const auto cost = costs({});
  const Selection initial = original_selection(egraph, roots, cost);
  const auto selection = extract(egraph, roots, cost, initial);
  ASSERT_TRUE(selection);
  EXPECT_EQ(selection->cost, 100'000);
  EXPECT_EQ(to_graph(egraph, *selection)->node_count(), 100'001U);
}

/// What the local search makes of the graph as it is: the cost of the classes that are in use then.
double searched_locally(const Graph& graph, std::string_view rules, const NodeCost& cost) {
  EGraph egraph;
  egraph.add_graph(graph);
  saturate(egraph, rules_of(rules), unlimited());
  const std::vector<ClassId> roots = output_classes(egraph);
  std::vector<double> node_cost(egraph.id_count(), std::numeric_limits<double>::infinity());
  for (std::uint32_t i = 0; i < node_cost.size(); ++i)
    if (!egraph.node({i}).duplicate) node_cost[i] = cost(egraph, {i});
  const std::vector<ENodeId> chosen = search_locally(
      egraph, roots, node_cost, original_selection(egraph, roots, cost).node_of, {10, 20});
  double sum = 0;
  std::set<ClassId> seen;
  std::vector<ClassId> stack(roots.begin(), roots.end());
  while (!stack.empty()) {
    const ClassId id = egraph.find(stack.back());
    stack.pop_back();
    if (!seen.insert(id).second) continue;
    sum += node_cost[chosen[id.v].v];
    for (const ClassId child : egraph.children(chosen[id.v]))
      if (!child.is_none()) stack.push_back(child);
  }
  return sum;
}

TEST(Extraction, ATreeIsChosenWithoutWhatOnlyItsFormerNodeNeeds) {
  // Tanh(Exp(x)) is in use, so that a class that is out of use has Abs of it as its cheapest tree. In the place of
  // Neg(Tanh(Exp(x))) all of it falls out of use, and Erf(x) is cheaper than both.
  const Graph graph = graph_of(R"(graph "g"
  input %0 "x" : f32[2]
  %1 = Exp(%0)
  %2 = Tanh(%1)
  %3 = Neg(%2)
  output "y" = %3
)");
  constexpr std::string_view rules = R"(
rule other_form
  x : [A..]
  Neg(Tanh(Exp(x))) = Relu(Abs(Tanh(Exp(x))))

rule short_form
  x : [A..]
  Abs(Tanh(Exp(x))) = Erf(x)
)";
  const NodeCost cost = costs({{"Neg", 0.5}, {"Erf", 2}, {"Relu", 0.25}, {"Abs", 0.8}});
  EXPECT_EQ(searched_locally(graph, rules, cost), 2.25);
}

}  // namespace
}  // namespace lemma
