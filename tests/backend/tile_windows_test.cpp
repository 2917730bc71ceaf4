// Windows of 3x3 by tiles of 4x4 results: the same results within rounding errors, and only where it pays.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/cases.h"
#include "backend/layout/layout.h"
#include "tests/backend/computations.h"

namespace lemma::backend {
namespace {

using interpreter::Tensor;

Constant weights(DataType type, const std::vector<std::int64_t>& sizes) {
  return interpreter::random_tensor(type, sizes, 3, 0).constant();
}

const Attributes padded = {{"pads", Shape{1, 1, 1, 1}}};

/// A convolution with a bias, and a Relu.
Graph graph_of(const Shape& input, const Constant& windows, const Attributes& attributes,
               std::string_view activation = "Relu") {
  Graph graph;
  const DataType type = windows.type().data_type;
  const std::int64_t filters = windows.type().shape->front().offset();
  const auto value = graph.add("Conv",
                               {*graph.add_input("x", {type, input}), graph.add_constant(windows),
                                graph.add_constant(weights(type, {filters}))},
                               attributes);
  EXPECT_TRUE(value) << value.error().message;
  EXPECT_TRUE(graph.add_output("y", *graph.add(activation, {*value})));
  return graph;
}

ComputationGraph tiled(const ComputationGraph& graph) {
  auto result = tile_windows(store_padding(graph), lowering::Domain::native);
  EXPECT_TRUE(result) << result.error().message;
  return std::move(*result);
}

std::size_t count_of(const ComputationGraph& graph, std::string_view description) {
  return static_cast<std::size_t>(std::count_if(
      graph.computations.begin(), graph.computations.end(),
      [description](const Computation& each) { return each.description == description; }));
}

/// Sums of products of random elements have rounding errors that go with their largest results.
void expect_close(const ComputationGraph& a, const ComputationGraph& b) {
  const std::vector<Tensor> expected = evaluated(a), actual = evaluated(b);
  ASSERT_EQ(expected.size(), actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::vector<double> wanted = expected[i].constant().reals(),
                              got = actual[i].constant().reals();
    ASSERT_EQ(wanted.size(), got.size());
    double largest = 0, worst = 0;
    for (const double each : wanted) largest = std::max(largest, std::abs(each));
    for (std::size_t j = 0; j < got.size(); ++j)
      worst = std::max(worst, std::abs(got[j] - wanted[j]));
    EXPECT_GT(largest, 0.0);
    EXPECT_LE(worst, 1e-5 * largest);
  }
}

void expect_tiled(const Shape& input, std::int64_t channels, std::int64_t filters,
                  const Attributes& attributes) {
  const ComputationGraph before =
      lowered(graph_of(input, weights(DataType::f32, {filters, channels, 3, 3}), attributes));
  const ComputationGraph after = tiled(before);
  EXPECT_EQ(count_of(after, "products of tiles"), 1U);
  expect_close(before, after);
}

TEST(TileWindows, give_the_same_results) {
  expect_tiled({1, 32, 12, 16}, 32, 48, padded);
  expect_tiled({1, 48, 18, 22}, 48, 48, {});
}

TEST(TileWindows, may_reach_over_the_edges) {
  expect_tiled({1, 64, 13, 13}, 64, 64, padded);
  expect_tiled({1, 64, 21, 16}, 64, 64, {{"pads", Shape{0, 1, 1, 0}}});
  expect_tiled({3, 64, 7, 11}, 64, 32, padded);
}

TEST(TileWindows, of_groups_of_rows) { expect_tiled({2, 64, 64, 64}, 64, 64, padded); }

std::size_t tiled_products(const Graph& graph) {
  const ComputationGraph before = lowered(graph), after = tiled(before);
  const std::size_t count = count_of(after, "products of tiles");
  if (count == 0) {
    EXPECT_EQ(after.computations.size(), store_padding(before).computations.size());
  }
  return count;
}

TEST(TileWindows, are_taken_for_windows_of_3x3_with_steps_of_1_alone) {
  const Shape input = {1, 64, 16, 16};
  const auto products = [&](const std::vector<std::int64_t>& windows,
                            const Attributes& attributes) {
    return tiled_products(graph_of(input, weights(DataType::f32, windows), attributes));
  };
  EXPECT_EQ(products({64, 64, 3, 3}, padded), 1U);
  EXPECT_EQ(products({64, 64, 3, 3}, {{"strides", Shape{2, 2}}}), 0U);
  EXPECT_EQ(products({64, 64, 3, 3}, {{"strides", Shape{1, 2}}}), 0U);
  EXPECT_EQ(products({64, 64, 3, 3}, {{"dilations", Shape{2, 2}}}), 0U);
  EXPECT_EQ(products({64, 32, 3, 3}, {{"group", Dimension(2)}}), 0U);
  EXPECT_EQ(products({64, 64, 5, 5}, {}), 0U);
  EXPECT_EQ(products({64, 64, 1, 3}, {}), 0U);
  EXPECT_EQ(products({64, 64, 1, 1}, {}), 0U);
}

TEST(TileWindows, are_taken_where_they_pay) {
  const auto products = [](const Shape& input, std::int64_t filters) {
    const std::int64_t channels = input[1].offset();
    return tiled_products(
        graph_of(input, weights(DataType::f32, {filters, channels, 3, 3}), padded));
  };
  EXPECT_EQ(products({1, 3, 32, 32}, 64), 0U);   // vectors stay empty
  EXPECT_EQ(products({1, 64, 32, 32}, 20), 0U);  // the same
  EXPECT_EQ(products({1, 16, 32, 32}, 16), 0U);  // more work for transforms than for products
  EXPECT_EQ(products({1, 512, 3, 3}, 512), 0U);  // more weights than results
}

TEST(TileWindows, need_finite_weights_of_f32) {
  const Shape input = {1, 64, 16, 16};
  EXPECT_EQ(tiled_products(graph_of(input, weights(DataType::f64, {64, 64, 3, 3}), padded)), 0U);
  EXPECT_EQ(tiled_products(graph_of(input, weights(DataType::f16, {64, 64, 3, 3}), padded)), 0U);
  for (const float odd :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(),
        std::numeric_limits<float>::max()}) {
    std::vector<float> elements(64 * 64 * 9, 1.0F);
    elements[1000] = odd;
    EXPECT_EQ(
        tiled_products(graph_of(input, Constant::of(DataType::f32, {64, 64, 3, 3}, elements), {})),
        0U);
  }
  Graph graph;
  const ValueId x = *graph.add_input("x", {DataType::f32, Shape{1, 64, 16, 16}});
  const ValueId w = *graph.add_input("w", {DataType::f32, Shape{64, 64, 3, 3}});
  ASSERT_TRUE(graph.add_output("y", *graph.add("Conv", {x, w}, {})));
  EXPECT_EQ(tiled_products(graph), 0U);
}

TEST(TileWindows, share_the_tiles_of_an_image) {
  Graph graph;
  const ValueId x = *graph.add_input("x", {DataType::f32, Shape{1, 48, 12, 12}});
  for (const auto& [name, filters] : {std::pair("y", 64), std::pair("z", 32)})
    ASSERT_TRUE(graph.add_output(
        name,
        *graph.add("Conv", {x, graph.add_constant(weights(DataType::f32, {filters, 48, 3, 3}))},
                   padded)));
  const ComputationGraph before = lowered(graph), after = tiled(before);
  EXPECT_EQ(count_of(after, "tiles"), 1U);
  EXPECT_EQ(count_of(after, "products of tiles"), 2U);
  expect_close(before, after);
}

TEST(Cases, are_the_points_of_a_tile) {
  const ComputationGraph graph =
      tiled(lowered(graph_of({1, 48, 12, 12}, weights(DataType::f32, {64, 48, 3, 3}), padded)));
  std::vector<std::size_t> counts;
  for (const Computation& computation : graph.computations)
    if (const auto cases = find_cases(*nest_of(computation)))
      counts.push_back(cases->values.size());
  EXPECT_EQ(counts, (std::vector<std::size_t>{36, 16}));
}

/// Formulas that depend on the axis are not the same for all elements along it.
TEST(Cases, do_not_depend_on_their_axes) {
  const auto cases_of = [](bool uses_axis) {
    DefinitionBuilder builder;
    const Expression i = builder.variable(2), j = builder.variable(5);
    const auto read = [&](Expression index) { return builder.read(0, DataType::f32, {index, j}); };
    const Expression first = read(uses_axis ? i : builder.integer(1)),
                     second = read(builder.integer(0));
    builder.output({i, j}, builder.select(i == builder.integer(1), first, second));
    Computation computation;
    computation.definition = std::move(builder).finish();
    computation.views = {{DataType::f32, {2, 5}, false}};
    computation.operands = {0};
    return find_cases(*nest_of(computation));
  };
  EXPECT_FALSE(cases_of(true));
  const auto cases = cases_of(false);
  ASSERT_TRUE(cases);
  EXPECT_EQ(cases->axes, std::vector<std::size_t>{0});
  EXPECT_EQ(cases->values.size(), 2U);
  EXPECT_NE(cases->values[0], cases->values[1]);
}

}  // namespace
}  // namespace lemma::backend
