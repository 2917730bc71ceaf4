#include "ir/graph.h"

#include <limits>

#include <gtest/gtest.h>

#include "ir/check.h"
#include "ir/graph_text.h"

namespace lemma {
namespace {

TensorType f32(Shape shape) { return {DataType::f32, std::move(shape)}; }

/// A graph with one input x of type f32[N, 4].
struct Example {
  Example() : x(*graph.add_input("x", f32({Dimension::symbol("N"), 4}))) {}
  Graph graph;
  ValueId x;
};

TEST(Graph, equal_operations_are_one_node) {
  Example e;
  const auto a = e.graph.add("Relu", {e.x}), b = e.graph.add("Relu", {e.x});
  ASSERT_TRUE(a && b);
  EXPECT_EQ(*a, *b);
  EXPECT_NE(*e.graph.add("Tanh", {e.x}), *a);
  EXPECT_NE(*e.graph.add("Relu", {*a}), *a);
  EXPECT_EQ(e.graph.node_count(), 4U);
}

TEST(Graph, attributes_are_compared_in_normal_form) {
  Example e;
  const auto a = e.graph.add("ReduceSum", {e.x}, {{"axes", Integers{-1, 0}}});
  const auto b =
      e.graph.add("ReduceSum", {e.x}, {{"axes", Integers{0, 1}}, {"keepdims", INT64_C(1)}});
  const auto c = e.graph.add("ReduceSum", {e.x});
  const auto d = e.graph.add("ReduceSum", {e.x}, {{"axes", Integers{1}}});
  ASSERT_TRUE(a && b && c && d);
  EXPECT_EQ(*a, *b);
  EXPECT_EQ(*a, *c);
  EXPECT_NE(*a, *d);
}

TEST(Graph, real_attributes_are_compared_by_their_bits) {
  Example e;
  auto relu = [&e](double alpha) { return *e.graph.add("LeakyRelu", {e.x}, {{"alpha", alpha}}); };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(relu(nan), relu(nan));
  EXPECT_NE(relu(0.0), relu(-0.0));
  EXPECT_EQ(relu(0.5), relu(0.5));
  EXPECT_TRUE(check(e.graph, Stage::imported));
}

TEST(Graph, equal_constants_are_one_node) {
  Graph graph;
  const auto four = [](DataType type, std::vector<std::int64_t> sizes) {
    return Constant::of(type, std::move(sizes), std::vector<std::uint32_t>{0, 1, 2, 3});
  };
  const ValueId a = graph.add_constant(four(DataType::u32, {4}));
  EXPECT_EQ(graph.add_constant(four(DataType::u32, {4})), a);
  EXPECT_NE(graph.add_constant(four(DataType::i32, {4})), a);
  EXPECT_NE(graph.add_constant(four(DataType::u32, {2, 2})), a);
  EXPECT_NE(graph.add_constant(four(DataType::u64, {2})), a);
  EXPECT_EQ(graph.node_count(), 4U);
}

TEST(Graph, large_constants_that_differ_in_the_middle_are_two) {
  // The hash looks at the ends only; equality must look at all.
  std::vector<float> elements(100000, 1.F);
  Graph graph;
  const ValueId a = graph.add_constant(Constant::of(DataType::f32, {100000}, elements));
  elements[50000] = 2.F;
  const ValueId b = graph.add_constant(Constant::of(DataType::f32, {100000}, elements));
  EXPECT_NE(a, b);
  EXPECT_EQ(graph.constant_of(a)->hash(), graph.constant_of(b)->hash());
  EXPECT_NE(graph.constant_of(a)->digest(), graph.constant_of(b)->digest());
}

TEST(Graph, opaque_nodes_are_never_merged) {
  Example e;
  const OpaqueOperator op{"com.example", "Random", "payload", "no record"};
  const NodeId a = e.graph.add_opaque(op, {e.x}, {f32({2}), {}});
  const NodeId b = e.graph.add_opaque(op, {e.x}, {f32({2}), {}});
  EXPECT_NE(a, b);
  const auto relu_a = e.graph.add("Relu", {e.graph.node(a).output(0)});
  const auto relu_b = e.graph.add("Relu", {e.graph.node(b).output(0)});
  ASSERT_TRUE(relu_a && relu_b);
  EXPECT_NE(*relu_a, *relu_b);
  EXPECT_EQ(e.graph.opaque(e.graph.node(b)).name, "Random");
  EXPECT_EQ(e.graph.output_index(e.graph.node(b).output(1)), 1U);
}

TEST(Graph, values_of_unknown_type_are_no_operands) {
  // To a record, an undefined type is an absent input: a bias of unknown type must not be dropped.
  Graph graph;
  const ValueId x = *graph.add_input("x", f32({2, 3})), w = *graph.add_input("w", f32({3, 4}));
  const NodeId unknown = graph.add_opaque({"", "Widget", "", ""}, {}, {{}});
  const ValueId bias = graph.node(unknown).output();
  const auto gemm = graph.add("Gemm", {x, w, bias});
  ASSERT_FALSE(gemm);
  EXPECT_EQ(gemm.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(gemm.error().message, "Gemm: input 2 has no known type");
  const NodeId ranked = graph.add_opaque({"", "Widget", "", ""}, {}, {{DataType::f32, {}}});
  EXPECT_FALSE(graph.add("Gemm", {x, w, graph.node(ranked).output()}));
}

TEST(Graph, absent_optional_inputs) {
  Graph graph;
  const ValueId x = *graph.add_input("x", f32({2, 3})), w = *graph.add_input("w", f32({3, 4}));
  const auto with_none = graph.add("Gemm", {x, w, ValueId::none()});
  const auto without = graph.add("Gemm", {x, w});
  ASSERT_TRUE(with_none && without);
  EXPECT_EQ(*with_none, *without);
  EXPECT_EQ(graph.node(graph.producer(*without)).inputs.size(), 2U);
  EXPECT_FALSE(graph.add("Gemm", {x, ValueId::none()}));
  EXPECT_FALSE(graph.add("Gemm", {ValueId::none(), w}));
  // In the middle it is kept.
  const ValueId low = *graph.add_input("low", f32({}));
  const auto clip = graph.add("ClipTensor", {x, ValueId::none(), low});
  ASSERT_TRUE(clip) << clip.error().message;
  EXPECT_TRUE(graph.node(graph.producer(*clip)).inputs[1].is_none());
  EXPECT_NE(*clip, *graph.add("ClipTensor", {x, low}));
}

TEST(Graph, errors_name_the_operator) {
  Example e;
  EXPECT_EQ(e.graph.add("MatMul", {e.x, e.x}).error().message,
            "MatMul: whether inner sizes are 4 or N is not known");
  EXPECT_EQ(e.graph.add("Relu", {e.x}, {{"alpha", 1.0}}).error().message,
            "Relu: there is no attribute 'alpha'");
  EXPECT_EQ(e.graph.add("ReduceSum", {e.x}, {{"axes", INT64_C(1)}}).error().message,
            "ReduceSum: attribute 'axes' has the kind integer, not integers");
  EXPECT_EQ(e.graph.node_count(), 1U) << "a refused operation leaves no node";
}

TEST(Graph, names_are_unique) {
  Example e;
  EXPECT_FALSE(e.graph.add_input("x", f32({})));
  EXPECT_EQ(e.graph.node_count(), 1U);
  ASSERT_TRUE(e.graph.add_output("y", e.x));
  EXPECT_FALSE(e.graph.add_output("y", e.x));
  ASSERT_TRUE(e.graph.add_output("x", e.x)) << "an output may be named as an input";
  EXPECT_EQ(e.graph.outputs().size(), 2U);
}

TEST(Graph, inputs_need_possible_sizes) {
  Graph graph;
  EXPECT_FALSE(graph.add_input("negative", f32({-1})));
  EXPECT_FALSE(graph.add_input("invalid", f32({Dimension::invalid()})));
  EXPECT_TRUE(graph.add_input("empty", f32({0})));
  EXPECT_TRUE(graph.add_input("negative", f32({1}))) << "a refused input does not take the name";
}

TEST(Graph, the_first_suggested_name_wins) {
  Example e;
  const ValueId y = *e.graph.add("Relu", {e.x});
  EXPECT_EQ(e.graph.suggested_name(y), "");
  e.graph.suggest_name(y, "");
  e.graph.suggest_name(y, "first");
  e.graph.suggest_name(y, "second");
  EXPECT_EQ(e.graph.suggested_name(y), "first");
  EXPECT_EQ(e.graph.suggested_name(e.x), "x");
}

TEST(Graph, live_nodes_are_inputs_and_what_outputs_need) {
  Example e;
  const ValueId unused_input = *e.graph.add_input("unused", f32({}));
  const ValueId a = *e.graph.add("Relu", {e.x}), dead = *e.graph.add("Tanh", {a});
  const NodeId split = *e.graph.add_operation(operator_named("Split"), {a},
                                              {{"axis", INT64_C(1)}, {"split", Shape{1, 3}}}, 2);
  ASSERT_TRUE(e.graph.add_output("y", e.graph.node(split).output(1)));
  const std::vector<NodeId> expected = {e.graph.producer(e.x), e.graph.producer(unused_input),
                                        e.graph.producer(a), split};
  EXPECT_EQ(e.graph.live_nodes(), expected);
  EXPECT_FALSE(check(e.graph, Stage::optimized));
  ASSERT_TRUE(e.graph.add_output("z", dead));
  EXPECT_EQ(e.graph.live_nodes().size(), 5U);
  EXPECT_TRUE(check(e.graph, Stage::optimized));
}

TEST(Graph, deep_graphs) {
  Example e;
  ValueId value = e.x;
  for (int i = 0; i < 100000; ++i) value = *e.graph.add(i % 2 == 0 ? "Neg" : "Tanh", {value});
  ASSERT_TRUE(e.graph.add_output("y", value));
  EXPECT_EQ(e.graph.live_nodes().size(), 100001U);
  EXPECT_TRUE(check(e.graph, Stage::optimized));
  const std::string printed = print_graph(e.graph);
  const auto read = parse_graph(printed);
  ASSERT_TRUE(read);
  EXPECT_EQ(print_graph(*read), printed);
}

TEST(Graph, many_inputs_and_outputs) {
  // A search among the names for each new one would take long here.
  Graph graph;
  for (int i = 0; i < 50000; ++i) {
    const auto value =
        graph.add_input("a graph input with a long name " + std::to_string(i), f32({}));
    ASSERT_TRUE(value);
    ASSERT_TRUE(graph.add_output("output " + std::to_string(i), *value));
  }
  EXPECT_FALSE(graph.add_input("a graph input with a long name 49999", f32({})));
  EXPECT_TRUE(check(graph, Stage::imported));
}

TEST(Check, stages) {
  Example e;
  const NodeId opaque = e.graph.add_opaque({"d", "Widget", "", "no record"}, {e.x}, {f32({2})});
  ASSERT_TRUE(e.graph.add_output("y", e.graph.node(opaque).output()));
  EXPECT_TRUE(check(e.graph, Stage::imported));
  EXPECT_TRUE(check(e.graph, Stage::optimized));
  EXPECT_EQ(check(e.graph, Stage::concrete).error().message,
            "concrete graph, node 0: output 0 has the type f32[N, 4]");
  Graph fixed;
  const ValueId x = *fixed.add_input("x", f32({2}));
  EXPECT_TRUE(check(fixed, Stage::concrete));
  fixed.add_opaque({"d", "Widget", "", "no record"}, {x}, {f32({2})});
  EXPECT_EQ(check(fixed, Stage::concrete).error().message,
            "concrete graph, node 1: Widget is opaque: no record");
}

TEST(Check, impossible_sizes_and_values) {
  Graph graph;
  graph.add_opaque({"", "Widget", "", ""}, {}, {f32({-1})});
  EXPECT_EQ(check(graph, Stage::imported).error().message,
            "imported graph, node 0: output 0 has the type f32[-1]");
  Graph dangling;
  ASSERT_TRUE(dangling.add_output("y", ValueId{3}));
  EXPECT_EQ(check(dangling, Stage::imported).error().message,
            "output 'y' is no value of the graph");
  Graph forward;
  forward.add_opaque({"", "Widget", "", ""}, {ValueId{0}}, {f32({})});
  EXPECT_EQ(check(forward, Stage::imported).error().message,
            "imported graph, node 0: an input does not precede its use");
}

}  // namespace
}  // namespace lemma
