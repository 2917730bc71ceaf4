// Stored padding and turned weights: the same results, and no guard or step is left.

#include "backend_cuda/layout/layout.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/backend_cuda/computations.h"

namespace lemma::backend {
namespace {

using interpreter::Tensor;

Constant weights(const std::vector<std::int64_t>& sizes) {
  return interpreter::random_tensor(DataType::f32, sizes, 3, 0).constant();
}

/// One operator whose first operand is an input, and whose others are weights.
Graph graph_of(std::string_view name, const Shape& input, const std::vector<Constant>& others,
               const Attributes& attributes) {
  Graph graph;
  std::vector<ValueId> operands = {*graph.add_input("x", {DataType::f32, input})};
  for (const Constant& each : others) operands.push_back(graph.add_constant(each));
  const auto value = graph.add(name, operands, attributes);
  EXPECT_TRUE(value) << value.error().message;
  EXPECT_TRUE(graph.add_output("y", *value));
  return graph;
}

/// Reads behind a guard, and reads that may lie outside, of the last computation.
std::size_t guards(const ComputationGraph& graph) {
  const auto nest = nest_of(graph.computations.back());
  EXPECT_TRUE(nest);
  std::size_t count = 0;
  for (lowering::TermNumber id = 0; id < nest->graph.size(); ++id) {
    const lowering::Term& term = nest->graph.term(id);
    if (term.kind == ExpressionKind::select) ++count;
    for (std::size_t axis = 0; axis < term.indices.size(); ++axis)
      if (!nest->graph.is_inside(term, axis)) ++count;
  }
  return count;
}

std::size_t paddings(const ComputationGraph& graph) {
  std::size_t count = 0;
  for (const Computation& computation : graph.computations)
    if (computation.description == "padding") ++count;
  return count;
}

void expect_same_results(const ComputationGraph& a, const ComputationGraph& b) {
  const std::vector<Tensor> expected = evaluated(a), actual = evaluated(b);
  ASSERT_EQ(expected.size(), actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(actual[i], expected[i]);
}

void expect_stored(const Graph& graph) {
  const ComputationGraph before = lowered(graph), after = store_padding(before);
  EXPECT_GT(guards(before), 0U);
  EXPECT_EQ(guards(after), 0U);
  EXPECT_EQ(paddings(after), 1U);
  expect_same_results(before, after);
}

TEST(StorePadding, takes_the_guards_from_windows) {
  expect_stored(
      graph_of("Conv", {1, 3, 9, 7}, {weights({4, 3, 3, 3})}, {{"pads", Shape{1, 1, 1, 1}}}));
  expect_stored(graph_of("Conv", {2, 4, 9, 8}, {weights({6, 2, 3, 2}), weights({6})},
                         {{"pads", Shape{0, 2, 1, 0}},
                          {"strides", Shape{2, 3}},
                          {"dilations", Shape{2, 1}},
                          {"group", Dimension(2)}}));
  expect_stored(graph_of("Conv", {1, 2, 11}, {weights({3, 2, 5})}, {{"pads", Shape{4, 0}}}));
  expect_stored(graph_of("MaxPool", {1, 2, 9, 7}, {},
                         {{"kernel_shape", Shape{3, 3}}, {"pads", Shape{1, 1, 1, 1}}}));
}

TEST(StorePadding, is_shared_by_readers_of_the_same) {
  Graph graph;
  const ValueId x = *graph.add_input("x", {DataType::f32, Shape{1, 3, 9, 7}});
  const Attributes window = {{"pads", Shape{1, 1, 1, 1}}};
  for (const char* name : {"y", "z"})
    ASSERT_TRUE(graph.add_output(
        name, *graph.add("Conv", {x, graph.add_constant(weights({4, 3, 3, 3}))}, window)));
  const ComputationGraph before = lowered(graph), after = store_padding(before);
  EXPECT_EQ(paddings(after), 1U);
  EXPECT_EQ(after.computations.size(), 3U);
  expect_same_results(before, after);
}

/// Zero times infinity is not zero.
TEST(StorePadding, needs_finite_weights) {
  const Attributes window = {{"pads", Shape{1, 1}}};
  std::vector<float> elements(6, 1.0F);
  const Constant finite = Constant::of(DataType::f32, {1, 2, 3}, elements);
  for (const float odd :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    elements[4] = odd;
    const Constant constant = Constant::of(DataType::f32, {1, 2, 3}, elements);
    const ComputationGraph graph = lowered(graph_of("Conv", {1, 2, 8}, {constant}, window));
    EXPECT_EQ(paddings(store_padding(graph)), 0U);
  }
  EXPECT_EQ(paddings(store_padding(lowered(graph_of("Conv", {1, 2, 8}, {finite}, window)))), 1U);

  Graph graph;
  const ValueId x = *graph.add_input("x", {DataType::f32, Shape{1, 2, 8}});
  const ValueId w = *graph.add_input("w", {DataType::f32, Shape{1, 2, 3}});
  ASSERT_TRUE(graph.add_output("y", *graph.add("Conv", {x, w}, window)));
  EXPECT_EQ(paddings(store_padding(lowered(graph))), 0U);
}

/// A guard that says something else than that the read is inside.
TEST(StorePadding, keeps_other_guards) {
  for (const auto& [name, attributes] : std::vector<std::pair<std::string, Attributes>>{
           {"Trilu", {{"upper", INT64_C(1)}}}, {"CumSum", {{"axis", INT64_C(1)}}}}) {
    const ComputationGraph graph = lowered(graph_of(name, {5, 6}, {}, attributes));
    EXPECT_EQ(paddings(store_padding(graph)), 0U) << name;
  }
}

/// The step in memory from element to element of the last axis, of what is read from weights.
std::vector<std::int64_t> steps(const ComputationGraph& graph) {
  std::vector<std::int64_t> result;
  for (const Computation& computation : graph.computations) {
    const auto nest = nest_of(computation);
    EXPECT_TRUE(nest);
    for (lowering::TermNumber id = 0; id < nest->graph.size(); ++id) {
      const lowering::Term& term = nest->graph.term(id);
      if (term.kind == ExpressionKind::read &&
          graph.buffers[computation.operands[term.input]].memory == Memory::weights)
        result.push_back(nest->graph.address(term).coefficient(nest->axes.back()));
    }
  }
  return result;
}

TEST(TurnWeights, makes_neighbours_of_what_is_read_side_by_side) {
  const Graph graph = graph_of("Gemm", {3, 8}, {weights({5, 8})}, {{"transB", INT64_C(1)}});
  const ComputationGraph before = lowered(graph), after = turn_weights(before);
  EXPECT_EQ(steps(before), (std::vector<std::int64_t>{8}));
  EXPECT_EQ(steps(after), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(after.buffers.size(), before.buffers.size()) << "the old weights are kept";
  expect_same_results(before, after);
}

TEST(TurnWeights, leaves_weights_that_are_read_in_order) {
  const Graph graph = graph_of("MatMul", {3, 8}, {weights({8, 5})}, {});
  const ComputationGraph before = lowered(graph), after = turn_weights(before);
  EXPECT_EQ(steps(after), steps(before));
  for (std::size_t i = 0; i < before.buffers.size(); ++i)
    EXPECT_EQ(after.buffers[i].sizes, before.buffers[i].sizes);
}

}  // namespace
}  // namespace lemma::backend
