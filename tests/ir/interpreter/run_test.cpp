// Running graphs: symbolic sizes, names, errors.

#include "ir/interpreter/run.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace lemma::interpreter
