// Running graphs: symbolic sizes, names, errors.

#include "interpreter/run.h"

#include <gtest/gtest.h>

#include "interpreter/random.h"
#include "ir/expand.h"
#include "ir/specialize.h"
#include "lowering/field.h"

namespace lemma::interpreter {
namespace {

TensorType f32(Shape shape) { return {DataType::f32, std::move(shape)}; }

Tensor matrix(Sizes sizes, std::vector<float> elements) {
  return Tensor::of(DataType::f32, std::move(sizes), elements);
}

Graph product_graph() {
  Graph graph;
  const auto n = Dimension::symbol("N");
  const ValueId a = *graph.add_input("a", f32({2, n}));
  const ValueId b = *graph.add_input("b", f32({n, 2}));
  const ValueId c = *graph.add("MatMul", {a, b});
  EXPECT_TRUE(graph.add_output("c", c).has_value());
  return graph;
}

TEST(Run, BindsSymbolsFromInputs) {
  const std::vector<NamedTensor> inputs = {{"b", matrix({3, 2}, {7, 8, 9, 10, 11, 12})},
                                           {"a", matrix({2, 3}, {1, 2, 3, 4, 5, 6})}};
  const auto outputs = run(product_graph(), inputs);
  ASSERT_TRUE(outputs.has_value()) << outputs.error().message;
  EXPECT_EQ((*outputs)[0], matrix({2, 2}, {58, 64, 139, 154}));
}

/// The product of a 6x400 and a 400xN matrix of random elements; the elements of the first column.
std::vector<float> first_column(std::int64_t columns, bool in_order) {
  Graph graph;
  const ValueId a = *graph.add_input("a", f32({6, 400}));
  const ValueId b = *graph.add_input("b", f32({400, columns}));
  EXPECT_TRUE(graph.add_output("c", *graph.add("MatMul", {a, b})).has_value());
  std::vector<float> left(6 * 400), right(static_cast<std::size_t>(400 * columns));
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = 1.0F / static_cast<float>(i % 397 + 3);
  for (std::size_t i = 0; i < right.size(); ++i)
    right[i] = 1.0F / static_cast<float>(i / static_cast<std::size_t>(columns) % 389 + 5);
  const std::vector<NamedTensor> inputs = {{"a", matrix({6, 400}, left)},
                                           {"b", matrix({400, columns}, right)}};
  RunOptions options;
  options.in_order = in_order;
  const auto outputs = run(graph, inputs, options);
  EXPECT_TRUE(outputs.has_value());
  const std::vector<double> elements = outputs->front().reals();
  std::vector<float> column;
  for (std::size_t row = 0; row < 6; ++row)
    column.push_back(static_cast<float>(elements[row * static_cast<std::size_t>(columns)]));
  return column;
}

TEST(Run, TakesTermsInOrderForEveryShape) {
  const std::vector<float> wide = first_column(40, true);
  for (const std::int64_t columns : {1, 2, 8, 16, 23})
    EXPECT_EQ(first_column(columns, true), wide) << columns;
  EXPECT_NE(first_column(8, false), wide) << "then the option has no use";
}

TEST(Run, RejectsContradictingSizes) {
  const std::vector<NamedTensor> inputs = {{"a", matrix({2, 1}, {1, 2})},
                                           {"b", matrix({2, 2}, {1, 2, 3, 4})}};
  const auto outputs = run(product_graph(), inputs);
  ASSERT_FALSE(outputs.has_value());
  EXPECT_EQ(outputs.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(outputs.error().message, "axis 0 of input 'b' (N) has the size 2, not 1");
}

TEST(Run, NamesMissingInput) {
  const std::vector<NamedTensor> inputs = {{"a", matrix({2, 1}, {1, 2})}};
  EXPECT_EQ(run(product_graph(), inputs).error().message, "no tensor for input 'b'");
}

TEST(Run, NamesOpaqueNode) {
  Graph graph;
  const ValueId a = *graph.add_input("a", f32({2}));
  const NodeId node = graph.add_opaque({"", "Mystery", "", "no record"}, {a}, {f32({2})});
  ASSERT_TRUE(graph.add_output("b", graph.node(node).output()).has_value());
  const std::vector<NamedTensor> inputs = {{"a", matrix({2}, {1, 2})}};
  const auto outputs = run(graph, inputs);
  ASSERT_FALSE(outputs.has_value());
  EXPECT_EQ(outputs.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(outputs.error().message, "node 1: Mystery cannot be run: no record");
}

/// Softmax(Relu(x) + b) over symbolic sizes: a composite operator among defined ones.
Graph softmax_graph() {
  Graph graph;
  const auto n = Dimension::symbol("N"), m = Dimension::symbol("M");
  const ValueId x = *graph.add_input("x", f32({n, 2 * m}));
  const ValueId b = graph.add_constant(Constant::scalar_f32(1));
  const ValueId sum = *graph.add("Add", {*graph.add("Relu", {x}), b});
  EXPECT_TRUE(graph.add_output("y", *graph.add("Softmax", {sum})).has_value());
  return graph;
}

TEST(Run, ExpandsCompositeOperators) {
  const Graph graph = softmax_graph();
  const std::vector<NamedTensor> inputs = {{"x", matrix({2, 2}, {-5, 0, 3, 3})}};
  for (const bool plain : {false, true}) {
    RunOptions options;
    options.plain = plain;
    const auto outputs = run(graph, inputs, options);
    ASSERT_TRUE(outputs.has_value()) << outputs.error().message;
    EXPECT_EQ((*outputs)[0], matrix({2, 2}, {0.5, 0.5, 0.5, 0.5}));
  }
  const auto expanded = expand_composites(graph);
  ASSERT_TRUE(expanded.has_value());
  for (const Node& node : expanded->nodes())
    EXPECT_TRUE(node.kind != NodeKind::operation || expanded->op(node).compose == nullptr);
  EXPECT_EQ(expanded->type(expanded->outputs()[0].value), graph.type(graph.outputs()[0].value));
}

TEST(Run, RejectsSizesWithoutSolution) {
  const std::vector<NamedTensor> inputs = {{"x", matrix({1, 3}, {1, 2, 3})}};
  const auto outputs = run(softmax_graph(), inputs);
  ASSERT_FALSE(outputs.has_value());
  EXPECT_EQ(outputs.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(outputs.error().message, "axis 1 of input 'x' (2*M) cannot have the size 3");
}

TEST(Run, RejectsUnknownInputAndWrongType) {
  const Tensor x = matrix({1, 2}, {1, 2});
  EXPECT_EQ(run(softmax_graph(), std::vector<NamedTensor>{{"x", x}, {"z", x}}).error().message,
            "the graph has no input 'z'");
  const Tensor integers =
      Tensor::from_integers(DataType::i32, {1, 2}, std::vector<std::int64_t>{1, 2});
  EXPECT_EQ(run(softmax_graph(), std::vector<NamedTensor>{{"x", integers}}).error().message,
            "input 'x' is i32[1, 2], not f32[N, 2*M]");
}

TEST(Run, ComputesInTheDomainOfTheOptions) {
  RunOptions options;
  options.domain = Domain::prime_field;
  const std::vector<NamedTensor> inputs = {{"a", matrix({2, 1}, {1, -2})},
                                           {"b", matrix({1, 2}, {3, 0.5})}};
  const auto outputs = run(product_graph(), inputs, options);
  ASSERT_TRUE(outputs.has_value()) << outputs.error().message;
  const std::uint64_t half = field_inverse(2);
  EXPECT_EQ((*outputs)[0].integers(),
            (std::vector<std::int64_t>{3, static_cast<std::int64_t>(half),
                                       static_cast<std::int64_t>(field_modulus - 6),
                                       static_cast<std::int64_t>(field_modulus - 1)}));
}

TEST(Run, SharesTheMemoryOfViews) {
  Graph graph;
  const ValueId x = *graph.add_input("x", f32({2, 6}));
  const ValueId y = *graph.add("Reshape", {x}, {{"shape", Shape{3, 4}}});
  ASSERT_TRUE(graph.add_output("y", y).has_value());
  const Tensor input = random_tensor(DataType::f32, {2, 6}, 1);
  const std::vector<NamedTensor> inputs = {{"x", input}};
  const auto shared = run(graph, inputs);
  ASSERT_TRUE(shared.has_value());
  EXPECT_EQ((*shared)[0].bytes().data(), input.bytes().data());
  RunOptions options;
  options.plain = true;
  const auto copied = run(graph, inputs, options);
  EXPECT_NE((*copied)[0].bytes().data(), input.bytes().data());
  EXPECT_EQ((*copied)[0], (*shared)[0]);
}

TEST(Run, RunsDeepGraphs) {
  Graph graph;
  const ValueId x = *graph.add_input("x", f32({Dimension::symbol("N")}));
  ValueId y = x;
  for (int i = 0; i < 20000; ++i) y = *graph.add("Add", {y, x});
  ASSERT_TRUE(graph.add_output("y", y).has_value());
  const std::vector<NamedTensor> inputs = {{"x", matrix({2}, {1, 2})}};
  const auto outputs = run(graph, inputs);
  ASSERT_TRUE(outputs.has_value()) << outputs.error().message;
  EXPECT_EQ((*outputs)[0], matrix({2}, {20001, 40002}));
}

TEST(Specialize, SubstitutesInTypesAndAttributes) {
  Graph graph;
  const auto n = Dimension::symbol("N");
  const ValueId x = *graph.add_input("x", f32({n, 4}));
  const ValueId y = *graph.add("Reshape", {x}, {{"shape", Shape{2 * n, 2}}});
  ASSERT_TRUE(graph.add_output("y", y).has_value());
  const auto special = specialize(graph, {{"N", 3}});
  ASSERT_TRUE(special.has_value());
  EXPECT_EQ(special->type(special->outputs()[0].value), f32({6, 2}));
  EXPECT_EQ(special->outputs()[0].name, "y");
  EXPECT_EQ(special->type(special->node(special->inputs()[0]).output()), f32({3, 4}));
}

}  // namespace
}  // namespace lemma::interpreter
