// Stored padding and turned weights: the same results, and no guard or step is left.

#include "backend/layout/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/backend/computations.h"

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

/// Zero times infinity is not zero: where weights may be infinite, padding is stored, and the guard stays.
TEST(StorePadding, keeps_guards_of_weights_that_may_be_infinite) {
  const Attributes window = {{"pads", Shape{1, 1}}};
  std::vector<float> elements(6, 1.0F);
  const Constant finite = Constant::of(DataType::f32, {1, 2, 3}, elements);
  for (const float odd :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    elements[4] = odd;
    const Constant constant = Constant::of(DataType::f32, {1, 2, 3}, elements);
    const ComputationGraph before = lowered(graph_of("Conv", {1, 2, 8}, {constant}, window));
    const ComputationGraph after = store_padding(before);
    EXPECT_EQ(paddings(after), 1U);
    EXPECT_EQ(guards(after), 1U);
    expect_same_results(before, after);
    EXPECT_EQ(paddings(store_padding(before, ReadBy::lanes)), 0U);
  }
  EXPECT_EQ(guards(store_padding(lowered(graph_of("Conv", {1, 2, 8}, {finite}, window)))), 0U);

  Graph graph;
  const ValueId x = *graph.add_input("x", {DataType::f32, Shape{1, 2, 8}});
  const ValueId w = *graph.add_input("w", {DataType::f32, Shape{1, 2, 3}});
  ASSERT_TRUE(graph.add_output("y", *graph.add("Conv", {x, w}, window)));
  const ComputationGraph before = lowered(graph), after = store_padding(before);
  EXPECT_EQ(paddings(after), 1U);
  EXPECT_EQ(guards(after), 1U);
  expect_same_results(before, after);
}

/// Three windows a million elements apart.
TEST(StorePadding, is_not_much_larger_than_the_tensor) {
  const Graph graph = graph_of("Conv", {1, 1, 8}, {weights({1, 1, 3})},
                               {{"pads", Shape{1000000, 1000000}}, {"strides", Shape{1000000}}});
  const ComputationGraph before = lowered(graph), after = store_padding(before);
  EXPECT_EQ(paddings(after), 0U);
  expect_same_results(before, after);
}

/// A guard that says something else than that the read is inside.
TEST(StorePadding, keeps_other_guards) {
  for (const auto& [name, attributes] : std::vector<std::pair<std::string, Attributes>>{
           {"Trilu", {{"upper", INT64_C(1)}}}, {"CumSum", {{"axis", INT64_C(1)}}}}) {
    const ComputationGraph graph = lowered(graph_of(name, {5, 6}, {}, attributes));
    EXPECT_EQ(paddings(store_padding(graph)), 0U) << name;
  }
}

/// A guard of windows that never reach over the edge says nothing.
TEST(StorePadding, removes_guards_that_always_hold) {
  const ComputationGraph before = lowered(graph_of(
      "MaxPool", {1, 2, 9, 7}, {},
      {{"kernel_shape", Shape{3, 3}}, {"strides", Shape{2, 2}}, {"ceil_mode", INT64_C(1)}}));
  const ComputationGraph after = store_padding(before);
  EXPECT_GT(guards(before), 0U);
  EXPECT_EQ(guards(after), 0U);
  EXPECT_EQ(paddings(after), 0U);
  expect_same_results(before, after);
}

std::size_t count_of(const ComputationGraph& graph, std::string_view description) {
  return static_cast<std::size_t>(std::count_if(
      graph.computations.begin(), graph.computations.end(),
      [description](const Computation& each) { return each.description == description; }));
}

TEST(StoreWindows, puts_what_is_read_in_steps_side_by_side) {
  for (const std::int64_t kernel : {1, 3}) {
    const Shape input = {2, 3, 15, Dimension(14 + kernel)};
    const Graph graph = graph_of("Conv", input, {weights({16, 3, kernel, kernel}), weights({16})},
                                 {{"strides", Shape{2, 2}}});
    const ComputationGraph before = lowered(graph), after = store_windows(before);
    EXPECT_EQ(count_of(after, "windows"), 1U);
    expect_same_results(before, after);
  }
}

/// Too few uses of a copy, too many copies, steps of one, full vectors.
TEST(StoreWindows, leaves_what_gains_nothing) {
  const Attributes twos = {{"strides", Shape{2, 2}}};
  for (const Graph& graph : {graph_of("Conv", {1, 3, 15, 15}, {weights({15, 3, 3, 3})}, twos),
                             graph_of("Conv", {1, 3, 33, 33}, {weights({16, 3, 7, 7})}, twos),
                             graph_of("Conv", {1, 3, 15, 15}, {weights({16, 3, 3, 3})}, {}),
                             graph_of("Conv", {1, 3, 15, 65}, {weights({16, 3, 3, 3})}, twos),
                             graph_of("MaxPool", {1, 3, 15, 15}, {},
                                      {{"kernel_shape", Shape{3, 3}}, {"strides", Shape{2, 2}}})})
    EXPECT_EQ(count_of(store_windows(lowered(graph)), "windows"), 0U);
}

std::vector<std::string> descriptions(const ComputationGraph& graph) {
  std::vector<std::string> result;
  for (const Computation& computation : graph.computations)
    result.push_back(computation.description);
  return result;
}

TEST(WidenRows, computes_short_rows_without_gaps) {
  const Attributes window = {{"pads", Shape{1, 1, 1, 1}}};
  for (const std::int64_t width : {7, 13, 14, 35}) {
    const Shape input = {2, 3, 6, Dimension(width)};
    for (const auto& others : std::vector<std::vector<Constant>>{
             {weights({4, 3, 3, 3})}, {weights({4, 3, 3, 3}), weights({4})}}) {
      const ComputationGraph before =
          store_padding(lowered(graph_of("Conv", input, others, window)));
      const ComputationGraph after = widen_rows(before);
      EXPECT_EQ(descriptions(after), (std::vector<std::string>{"padding", "Conv", "narrowing"}));
      EXPECT_EQ(guards(after), 0U);
      expect_same_results(before, after);
    }
  }
}

/// Full vectors, steps of two, and rows that are one loop as they are.
TEST(WidenRows, leaves_what_gains_nothing) {
  const Attributes twos = {{"strides", Shape{2, 2}}};
  for (const Graph& graph : {graph_of("Conv", {1, 3, 6, 34}, {weights({4, 3, 3, 3})}, {}),
                             graph_of("Conv", {1, 3, 9, 15}, {weights({4, 3, 3, 3})}, twos),
                             graph_of("Conv", {1, 12, 7, 7}, {weights({4, 12, 1, 1})}, {}),
                             graph_of("MatMul", {14, 14}, {weights({14, 14})}, {})}) {
    const ComputationGraph before = lowered(graph);
    EXPECT_EQ(descriptions(widen_rows(before)), descriptions(before));
  }
}

/// What lies between two rows has no counterpart in a tensor of rows of their own length.
TEST(WidenRows, needs_the_same_rows_of_all_that_is_read) {
  Graph graph;
  const ValueId x = *graph.add_input("x", {DataType::f32, Shape{1, 3, 8, 9}});
  const ValueId r = *graph.add_input("r", {DataType::f32, Shape{1, 4, 6, 7}});
  const ValueId sum =
      *graph.add("Add", {*graph.add("Conv", {x, graph.add_constant(weights({4, 3, 3, 3}))}), r});
  ASSERT_TRUE(graph.add_output("y", *graph.add("Mul", {sum, sum})));
  const ComputationGraph before = lowered(graph);
  EXPECT_EQ(descriptions(widen_rows(before)),
            (std::vector<std::string>{"Conv", "narrowing", "Add", "Mul"}));
  expect_same_results(before, widen_rows(before));
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

/// Panels of 32 columns for several rows, and of 128 for one.
TEST(TurnWeights, makes_panels) {
  for (const auto& [rows, panel] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{3, 32}, {1, 128}})
    for (const bool turns : {false, true}) {
      const Graph graph =
          graph_of("Gemm", {Dimension(rows), 8}, {turns ? weights({256, 8}) : weights({8, 256})},
                   {{"transB", std::int64_t{turns}}});
      const ComputationGraph before = lowered(graph), after = turn_weights(before);
      const auto is_panel = [panel](const Buffer& buffer) {
        return buffer.sizes == std::vector<std::int64_t>{256 / panel, 8, panel};
      };
      EXPECT_EQ(std::count_if(after.buffers.begin(), after.buffers.end(), is_panel), 1);
      EXPECT_EQ(after.buffers.size(), before.buffers.size()) << "the old weights are kept";
      expect_same_results(before, after);
    }
}

/// Lanes of a warp share the terms of few rows; other products, and short sums, have what processors have.
TEST(TurnWeights, terms_of_few_rows_are_neighbours_for_lanes) {
  using Sizes = std::vector<std::int64_t>;
  struct Case {
    std::int64_t rows, terms;
    bool is_turned;
    Sizes sizes;
  };
  for (const Case& each :
       {Case{1, 40, false, {256, 40}}, Case{1, 40, true, {256, 40}}, Case{3, 40, false, {256, 40}},
        Case{4, 40, true, {8, 40, 32}}, Case{1, 31, true, {2, 31, 128}}}) {
    const Graph graph =
        graph_of("Gemm", {Dimension(each.rows), Dimension(each.terms)},
                 {each.is_turned ? weights({256, each.terms}) : weights({each.terms, 256})},
                 {{"transB", std::int64_t{each.is_turned}}});
    const ComputationGraph before = lowered(graph), after = turn_weights(before, ReadBy::lanes);
    EXPECT_EQ(after.buffers.size(), before.buffers.size()) << "the old weights are kept";
    EXPECT_EQ(std::count_if(after.buffers.begin(), after.buffers.end(),
                            [&](const Buffer& buffer) { return buffer.sizes == each.sizes; }),
              1)
        << each.rows << " rows of " << each.terms;
    expect_same_results(before, after);
  }
}

/// Channels side by side in panels of 32 or 16, also where there is one panel; the passes for short rows leave them.
TEST(TurnWeights, makes_panels_of_channels) {
  using Sizes = std::vector<std::int64_t>;
  const Attributes twos = {{"strides", Shape{2, 2}}};
  for (const auto& [channels, sizes] :
       std::vector<std::pair<std::int64_t, Sizes>>{{64, {2, 16, 3, 3, 32}},
                                                   {48, {3, 16, 3, 3, 16}},
                                                   {32, {16, 3, 3, 32}},
                                                   {40, {40, 16, 3, 3}}}) {
    for (const Attributes& steps : {Attributes{}, twos}) {
      const Graph graph = graph_of("Conv", {1, 16, 9, 15},
                                   {weights({channels, 16, 3, 3}), weights({channels})}, steps);
      const ComputationGraph before = lowered(graph);
      const ComputationGraph after = turn_weights(before);
      const auto has_sizes = [&sizes](const Buffer& buffer) { return buffer.sizes == sizes; };
      EXPECT_EQ(std::count_if(after.buffers.begin(), after.buffers.end(), has_sizes), 1);
      expect_same_results(before, after);
      if (channels == 40) continue;
      EXPECT_EQ(descriptions(widen_rows(store_windows(before))), descriptions(before));
    }
  }
}

/// Channels of a group are one panel, and products with few positions have panels as well.
TEST(TurnWeights, makes_panels_of_groups_and_of_products_with_few_positions) {
  using Sizes = std::vector<std::int64_t>;
  struct Case {
    Shape input;
    Sizes filters;
    Attributes attributes;
    Sizes panels;
  };
  const std::vector<Case> cases = {
      {Shape{1, 32, 9, 15}, Sizes{32, 16, 3, 3}, {{"group", Dimension(2)}}, {2, 16, 3, 3, 16}},
      {Shape{1, 48, 7, 7}, Sizes{96, 16, 3, 3}, {{"group", Dimension(3)}}, {3, 16, 3, 3, 32}},
      {Shape{1, 160, 7, 7}, Sizes{64, 160, 1, 1}, {}, {2, 160, 1, 1, 32}},
      {Shape{1, 160, 14, 14}, Sizes{64, 160, 1, 1}, {{"strides", Shape{2, 2}}}, {2, 160, 1, 1, 32}},
      {Shape{1, 160, 14, 14}, Sizes{64, 160, 1, 1}, {}, {2, 160, 1, 1, 32}},
      // As many positions as nearly fill vectors, and groups of 8 channels.
      {Shape{1, 160, 15, 16}, Sizes{64, 160, 1, 1}, {}, {64, 160, 1, 1}},
      {Shape{1, 64, 7, 7}, Sizes{32, 16, 3, 3}, {{"group", Dimension(4)}}, {32, 16, 3, 3}}};
  for (const Case& each : cases) {
    const Graph graph = graph_of("Conv", each.input, {weights(each.filters)}, each.attributes);
    const ComputationGraph before = lowered(graph), after = turn_weights(before);
    EXPECT_TRUE(std::any_of(after.buffers.begin(), after.buffers.end(),
                            [&each](const Buffer& buffer) { return buffer.sizes == each.panels; }));
    expect_same_results(before, after);
  }
}

/// Few products, many positions, and weights that are not constant.
TEST(TurnWeights, leaves_channels_where_panels_gain_nothing) {
  Graph of_inputs;
  const ValueId x = *of_inputs.add_input("x", {DataType::f32, Shape{1, 16, 9, 15}});
  const ValueId w = *of_inputs.add_input("w", {DataType::f32, Shape{32, 16, 3, 3}});
  ASSERT_TRUE(of_inputs.add_output("y", *of_inputs.add("Conv", {x, w})));
  for (const Graph& graph :
       {graph_of("Conv", {1, 15, 9, 15}, {weights({32, 15, 3, 3})}, {}),
        graph_of("Conv", {1, 16, 67, 67}, {weights({32, 16, 3, 3})}, {}), of_inputs}) {
    const ComputationGraph before = lowered(graph), after = turn_weights(before);
    for (std::size_t i = 0; i < before.buffers.size(); ++i)
      EXPECT_EQ(after.buffers[i].sizes, before.buffers[i].sizes);
  }
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
