#include "plans/partition/partition.h"

#include <algorithm>
#include <stdexcept>

#include <gtest/gtest.h>

#include "check/sampled_check.h"
#include "interpreter/random.h"
#include "ir/graph_text.h"
#include "plans/partition/strategies.h"
#include "plans/relations/verification.h"

namespace lemma::plans {
namespace {

constexpr std::string_view perceptron = R"(graph "test"
  input %0 "x" : f32[8, 12]
  input %1 "a" : f32[12, 16]
  input %2 "b" : f32[16]
  input %3 "c" : f32[16, 8]
  %4 = MatMul(%0, %1)
  %5 = Add(%4, %2)
  %6 = Relu(%5)
  %7 = MatMul(%6, %3)
  %8 = Softmax{axis=-1}(%7)
  %9 = Reshape{shape=[4, 2, 8]}(%8)
  %10 = Transpose{perm=[1, 0, 2]}(%9)
  output "y" = %10
)";

constexpr std::string_view network = R"(graph "test"
  input %0 "x" : f32[4, 4, 8, 8]
  input %1 "w" : f32[8, 4, 3, 3]
  input %2 "s" : f32[8]
  input %3 "v" : f32[4, 8, 1, 1]
  %4 = Conv{pads=[1, 1, 1, 1]}(%0, %1)
  %5 = MaxPool{kernel_shape=[2, 2], strides=[2, 2]}(%4)
  %6 = Relu(%5)
  %7 = Conv(%6, %3)
  %8 = Add(%7, %7)
  %9 = GlobalAveragePool(%8)
  %10 = Flatten(%9)
  output "y" = %10
)";

Graph graph_of(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().message;
  return std::move(*graph);
}

bool has(const std::vector<Strategy>& strategies, const Strategy& wanted) {
  return std::any_of(strategies.begin(), strategies.end(), [&](const Strategy& strategy) {
    return strategy.reads == wanted.reads && strategy.gives == wanted.gives;
  });
}

const Share part0{Sharing::parted, 0}, part1{Sharing::parted, 1}, whole, sum{Sharing::partial};

const Node& node_of(const Graph& graph, std::string_view op) {
  for (const Node& node : graph.nodes())
    if (node.kind == NodeKind::operation && graph.op(node).name == op) return node;
  throw std::logic_error("no such node");
}

TEST(Strategies, OfAProductAreThoseOfTheLiterature) {
  const Graph graph = graph_of(perceptron);
  Strategies strategies(graph);
  const auto& found = strategies.of(node_of(graph, "MatMul"), 4);
  EXPECT_TRUE(has(found, {{whole, whole}, {whole}}));
  EXPECT_TRUE(has(found, {{part0, whole}, {part0}}));  // data parallel
  EXPECT_TRUE(has(found, {{whole, part1}, {part1}}));  // parameter parallel
  EXPECT_TRUE(has(found, {{part1, part0}, {sum}}));    // reduction parallel
  EXPECT_TRUE(has(found, {{sum, whole}, {sum}}));      // linear in each operand
  EXPECT_TRUE(has(found, {{whole, sum}, {sum}}));
  EXPECT_EQ(found.size(), 6U);
}

TEST(Strategies, OfASoftmaxAreNotAlongItsAxis) {
  const Graph graph = graph_of(perceptron);
  Strategies strategies(graph);
  const auto& found = strategies.of(node_of(graph, "Softmax"), 4);
  EXPECT_EQ(found.size(), 2U);
  EXPECT_TRUE(has(found, {{part0}, {part0}}));
}

constexpr std::string_view positions = R"(graph "test"
  input %0 "x" : f32[4, 4, 8, 8]
  %1 = MaxPool{kernel_shape=[2, 2], strides=[2, 2]}(%0) : f32[4, 4, 4, 4]
  %2, %3 = MaxPool{kernel_shape=[2, 2], strides=[2, 2]}(%0) : f32[4, 4, 4, 4], i64[4, 4, 4, 4]
  output "a" = %1
  output "b" = %3
)";

TEST(Strategies, AreForTheOutputsThatANodeHas) {
  const Graph graph = graph_of(positions);
  Strategies strategies(graph);
  for (const Node& node : graph.nodes()) {
    if (node.kind != NodeKind::operation) continue;
    for (const Strategy& strategy : strategies.of(node, 2))
      EXPECT_EQ(strategy.gives.size(), node.output_count);
  }
}

TEST(Strategies, OfAReluAreNotForSums) {
  const Graph graph = graph_of(perceptron);
  Strategies strategies(graph);
  for (const Strategy& strategy : strategies.of(node_of(graph, "Relu"), 4))
    EXPECT_NE(strategy.reads[0].sharing, Sharing::partial);
}

TEST(Strategies, OfAConvolutionAreSamplesFiltersAndChannels) {
  const Graph graph = graph_of(network);
  Strategies strategies(graph);
  const auto& found = strategies.of(node_of(graph, "Conv"), 2);
  EXPECT_TRUE(has(found, {{part0, whole}, {part0}}));
  EXPECT_TRUE(has(found, {{whole, part0}, {part1}}));
  EXPECT_TRUE(has(found, {{part1, part1}, {sum}}));
  // Rows need what their neighbours have: no strategy without an exchange.
  EXPECT_FALSE(has(found, {{{Sharing::parted, 2}, whole}, {{Sharing::parted, 2}}}));
}

TEST(Strategies, WhereASizeCannotBeCutAreOnlyReplicas) {
  const Graph graph = graph_of(perceptron);
  Strategies strategies(graph);
  EXPECT_EQ(strategies.of(node_of(graph, "Relu"), 7).size(), 1U);
  EXPECT_EQ(strategies.of(node_of(graph, "MatMul"), 1).size(), 1U);
}

std::uint64_t drawn(std::uint64_t seed, std::uint64_t& counter, std::uint64_t below) {
  return interpreter::random_word(seed, 0, counter++) % below;
}

/// A strategy for each node and axis of the mesh, drawn; what reads a partial value otherwise adds it up first.
PlanChoice drawn_choice(const Graph& graph, Strategies& strategies, const Mesh& mesh,
                        std::uint64_t seed) {
  PlanChoice choice;
  choice.mesh = mesh;
  std::uint64_t counter = 0;
  std::vector<Placement> placements(graph.value_count(), replicated(mesh));
  for (const NodeId id : graph.inputs()) {
    const ValueId value = graph.node(id).output();
    Placement& placement = placements[value.v];
    const Shape& shape = *graph.type(value).shape;
    const Share share{Sharing::parted, drawn(seed, counter, shape.size())};
    placement[drawn(seed, counter, mesh.rank())] = share;
    if (!local_shape(shape, placement, mesh)) placement = replicated(mesh);
    choice.sources[value] = placement;
  }
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::operation) continue;
    NodePlacements chosen{std::vector<Placement>(node.inputs.size(), replicated(mesh)),
                          std::vector<Placement>(node.output_count, replicated(mesh))};
    for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
      const auto& all = strategies.of(node, mesh.axes[axis].size);
      const Strategy& strategy = all[drawn(seed, counter, all.size())];
      NodePlacements next = chosen;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) next.reads[i][axis] = strategy.reads[i];
      for (std::size_t i = 0; i < node.output_count; ++i) next.gives[i][axis] = strategy.gives[i];
      bool fits = true;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        fits = fits && local_shape(*graph.type(node.inputs[i]).shape, next.reads[i], mesh);
        if (next.reads[i][axis].sharing == Sharing::partial)
          fits = fits && placements[node.inputs[i].v][axis] == next.reads[i][axis];
      }
      for (std::size_t i = 0; i < node.output_count; ++i)
        fits = fits && local_shape(*graph.type(node.output(i)).shape, next.gives[i], mesh);
      if (fits) chosen = std::move(next);
    }
    for (std::size_t i = 0; i < node.output_count; ++i)
      placements[node.output(i).v] = chosen.gives[i];
    choice.nodes[id] = std::move(chosen);
  }
  return choice;
}

TEST(Partitioned, DrawnChoicesAreTheGraph) {
  for (const std::string_view text : {perceptron, network}) {
    const Graph graph = graph_of(text);
    Strategies strategies(graph);
    for (const Mesh& mesh :
         {Mesh{{{"devices", 2}}}, Mesh{{{"devices", 4}}}, Mesh{{{"data", 2}, {"tensor", 2}}}})
      for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const PlanChoice choice = drawn_choice(graph, strategies, mesh, seed);
        const auto program = partitioned(graph, choice);
        ASSERT_TRUE(program) << program.error().message;
        const Verification verification = verify(graph, *program);
        EXPECT_EQ(verification.verdict, Verdict::proved)
            << seed << ": "
            << (verification.divergence ? verification.divergence->where : std::string("-"));
        const auto one = as_one_graph(graph, *program);
        ASSERT_TRUE(one) << one.error().message;
        const auto compared = compare_on_random_inputs(graph, *one, {});
        ASSERT_TRUE(compared) << compared.error().message;
        EXPECT_TRUE(compared->passed) << compared->difference;
      }
  }
}

TEST(Partitioned, AWrongChoiceIsNotProved) {
  const Graph graph = graph_of(perceptron);
  Strategies strategies(graph);
  const Mesh mesh{{{"devices", 2}}};
  PlanChoice choice;
  choice.mesh = mesh;
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::operation || graph.op(node).name != "Softmax") continue;
    choice.nodes[id] = {{{part1}}, {{part1}}};
  }
  const auto program = partitioned(graph, choice);
  ASSERT_TRUE(program);
  const Verification verification = verify(graph, *program);
  EXPECT_EQ(verification.verdict, Verdict::refuted);
  ASSERT_TRUE(verification.divergence);
  EXPECT_TRUE(verification.divergence->where.starts_with("Softmax"));
}

TEST(Moved, TakesReductionsOfDifferentKindsInOneOrder) {
  const Mesh mesh{{{"rows", 2}, {"columns", 2}}};
  const Share maximum{Sharing::partial, 0, Reduction::max};
  for (const Placement& from : {Placement{sum, maximum}, Placement{maximum, sum}}) {
    Program program;
    program.mesh = mesh;
    const auto x = program.graph.add_input("x", {DataType::f32, Shape{2, 2, 4}});
    const auto y = moved(program.graph, *x, from, replicated(mesh), mesh);
    ASSERT_TRUE(y && program.graph.add_output("y", *y));
    Graph single;
    const auto z = single.add_input("x", {DataType::f32, Shape{4}});
    ASSERT_TRUE(single.add_output("y", *z));
    program.inputs = {{*x, *z, from}};
    program.outputs = {{"y", replicated(mesh)}};
    EXPECT_TRUE(relate(single, program).of[y->v]) << text(from, mesh);
    // The other order is another tensor.
    const auto first = program.graph.add(
        "AllReduce", {*x},
        {{"device_axis", std::int64_t{0}}, {"reduction", std::string(name(from[0].reduction))}});
    const auto second = program.graph.add(
        "AllReduce", {*first},
        {{"device_axis", std::int64_t{1}}, {"reduction", std::string(name(from[1].reduction))}});
    ASSERT_TRUE(second && program.graph.add_output("w", *second));
    const Relations relations = relate(single, program);
    EXPECT_FALSE(relations.of[second->v]) << text(from, mesh);
  }
}

/// The largest integers are one number in f64.
TEST(Claims, DoNotTakeLargeIntegersForEachOther) {
  const Mesh mesh{{{"devices", 2}}};
  const auto difference = [](std::int64_t number) {
    Graph graph;
    const auto x = graph.add_input("x", {DataType::i64, Shape{4}});
    const auto y = graph.add(
        "Sub", {*x, graph.add_constant(Constant::of(DataType::i64, {}, std::vector{number}))});
    EXPECT_TRUE(y && graph.add_output("y", *y));
    return graph;
  };
  const std::int64_t large = (std::int64_t{1} << 60U) + 1;
  const Graph single = difference(large);
  PlanChoice choice;
  choice.mesh = mesh;
  auto program = partitioned(single, choice);
  ASSERT_TRUE(program);
  EXPECT_EQ(verify(single, *program).verdict, Verdict::proved);
  // The same program with a neighbour of the number within it.
  Program other;
  other.mesh = mesh;
  const auto x = other.graph.add_input("x", {DataType::i64, Shape{2, 4}});
  const auto constant =
      place(other.graph,
            other.graph.add_constant(Constant::of(DataType::i64, {}, std::vector{large + 1})),
            replicated(mesh), mesh);
  const auto y = other.graph.add("SubPerDevice", {*x, *constant});
  ASSERT_TRUE(y && other.graph.add_output("y", *y));
  other.inputs = {{*x, single.node(single.inputs()[0]).output(), replicated(mesh)}};
  other.outputs = {{"y", replicated(mesh)}};
  EXPECT_NE(verify(single, other).verdict, Verdict::proved);
}

TEST(Moved, LeadsFromEachPlacementToEachOther) {
  const Mesh mesh{{{"rows", 2}, {"columns", 2}}};
  const Shape shape = {4, 8};
  const std::vector<Share> shares = {whole, part0, part1, sum};
  std::size_t count = 0;
  for (const Share& a : shares)
    for (const Share& b : shares)
      for (const Share& c : shares)
        for (const Share& d : shares) {
          const Placement from = {a, b}, to = {c, d};
          if (is_partial(to) && !(from == to)) continue;
          Program program;
          program.mesh = mesh;
          Shape type = {2, 2};
          const auto local = local_shape(shape, from, mesh);
          ASSERT_TRUE(local);
          type.insert(type.end(), local->begin(), local->end());
          const auto x = program.graph.add_input("x", {DataType::f32, type});
          const auto y = moved(program.graph, *x, from, to, mesh);
          ASSERT_TRUE(y) << y.error().message;
          ASSERT_TRUE(program.graph.add_output("y", *y));
          Graph single;
          const auto z = single.add_input("x", {DataType::f32, shape});
          ASSERT_TRUE(single.add_output("y", *z));
          program.inputs = {{*x, *z, from}};
          program.outputs = {{"y", to}};
          const Relations relations = relate(single, program);
          const auto& relation = relations.of[y->v];
          ASSERT_TRUE(relation) << text(from, mesh) << " to " << text(to, mesh);
          EXPECT_EQ(relation->placement, to) << text(from, mesh);
          ++count;
        }
  EXPECT_GE(count, 16U * 9U);
}

}  // namespace
}  // namespace lemma::plans
