// Known numbers that scale and shift a sum of products: the same results within rounding errors, and only where a sum alone is
// read by them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/layout/layout.h"
#include "tests/backend/computations.h"

namespace lemma::backend {
namespace {

using interpreter::Tensor;

Constant numbers(const std::vector<std::int64_t>& sizes, std::uint32_t seed) {
  return interpreter::random_tensor(DataType::f32, sizes, seed, 0).constant();
}

Constant filled(const std::vector<std::int64_t>& sizes, float value) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return Constant::of(DataType::f32, sizes,
                      std::vector<float>(static_cast<std::size_t>(count), value));
}

/// A step with a known number before or after the value.
struct Applied {
  std::string_view name;
  Constant number;
  bool is_left = false;
};

Graph graph_of(const Shape& input, const Constant& windows, const Attributes& attributes,
               bool has_bias, const std::vector<Applied>& steps) {
  Graph graph;
  std::vector<ValueId> operands = {*graph.add_input("x", {DataType::f32, input}),
                                   graph.add_constant(windows)};
  if (has_bias)
    operands.push_back(graph.add_constant(numbers({windows.type().shape->front().offset()}, 11)));
  auto value = graph.add("Conv", operands, attributes);
  EXPECT_TRUE(value) << value.error().message;
  for (const Applied& step : steps) {
    const ValueId number = graph.add_constant(step.number);
    value = step.is_left ? graph.add(step.name, {number, *value})
                         : graph.add(step.name, {*value, number});
    EXPECT_TRUE(value) << value.error().message;
  }
  EXPECT_TRUE(graph.add_output("y", *graph.add("Relu", {*value})));
  return graph;
}

void expect_close(const ComputationGraph& a, const ComputationGraph& b) {
  const std::vector<Tensor> expected = evaluated(a), actual = evaluated(b);
  ASSERT_EQ(expected.size(), actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::vector<double> wanted = expected[i].constant().reals(),
                              got = actual[i].constant().reals();
    ASSERT_EQ(wanted.size(), got.size());
    double largest = 0, worst = 0;
    for (const double element : wanted) largest = std::max(largest, std::abs(element));
    for (std::size_t j = 0; j < got.size(); ++j)
      worst = std::max(worst, std::abs(got[j] - wanted[j]));
    EXPECT_GT(largest, 0.0);
    EXPECT_LE(worst, 1e-5 * largest);
  }
}

/// Computations that are left, after those before.
std::pair<std::size_t, std::size_t> folded(const Graph& graph) {
  const ComputationGraph before = lowered(graph), after = fold_factors(before);
  expect_close(before, after);
  return {before.computations.size(), after.computations.size()};
}

using Counts = std::pair<std::size_t, std::size_t>;

const std::vector<Applied>& normalization() {
  static const std::vector<Applied> steps = {{"Sub", numbers({6, 1, 1}, 1)},
                                             {"Div", filled({6, 1, 1}, 1.7F)},
                                             {"Mul", numbers({6, 1, 1}, 3)},
                                             {"Add", numbers({6, 1, 1}, 4)}};
  return steps;
}

TEST(FoldFactors, takes_a_normalization_into_the_weights) {
  for (const bool has_bias : {false, true}) {
    EXPECT_EQ(
        folded(graph_of({2, 4, 5, 7}, numbers({6, 4, 3, 3}, 7), {}, has_bias, normalization())),
        (Counts{6, 2}));
    EXPECT_EQ(folded(graph_of({1, 6, 5, 7}, numbers({6, 1, 3, 3}, 7),
                              {{"group", Dimension(6)}, {"pads", Shape{1, 1, 1, 1}}}, has_bias,
                              normalization())),
              (Counts{6, 2}));
  }
}

TEST(FoldFactors, takes_numbers_on_both_sides_and_one_for_all) {
  EXPECT_EQ(folded(graph_of({1, 4, 5, 7}, numbers({6, 4, 1, 1}, 7), {}, false,
                            {{"Sub", numbers({1, 6, 1, 1}, 1), true},
                             {"Mul", filled({}, -0.5F), true},
                             {"Sub", filled({1}, -9.0F)},
                             {"Add", numbers({6, 1, 1}, 2), true}})),
            (Counts{6, 2}));
}

TEST(FoldFactors, takes_products_of_matrices) {
  Graph graph;
  const auto product = graph.add("MatMul", {*graph.add_input("x", {DataType::f32, Shape{3, 5}}),
                                            graph.add_constant(numbers({5, 8}, 7))});
  const auto scaled = graph.add("Mul", {*product, graph.add_constant(numbers({8}, 8))});
  ASSERT_TRUE(
      graph.add_output("y", *graph.add("Add", {*scaled, graph.add_constant(numbers({8}, 9))})));
  EXPECT_EQ(folded(graph), (Counts{3, 1}));
}

TEST(FoldFactors, leaves_what_has_no_factor_or_another_axis) {
  const auto counts = [](const std::vector<Applied>& steps) {
    return folded(graph_of({1, 4, 5, 7}, numbers({6, 4, 1, 1}, 7), {}, false, steps));
  };
  EXPECT_EQ(counts({{"Add", numbers({6, 1, 1}, 1)}}), (Counts{3, 3}));
  EXPECT_EQ(counts({{"Mul", numbers({7}, 1)}}), (Counts{3, 3}));             // along rows
  EXPECT_EQ(counts({{"Mul", numbers({6, 5, 1}, 1)}}), (Counts{3, 3}));       // two axes
  EXPECT_EQ(counts({{"Div", filled({6, 1, 1}, 3), true}}), (Counts{3, 3}));  // an inverse
  EXPECT_EQ(counts({{"Mul", numbers({6, 1, 1}, 1)}, {"Mul", numbers({7}, 1)}}), (Counts{4, 3}));
}

TEST(FoldFactors, leaves_sums_that_others_read) {
  Graph graph;
  const auto sum = graph.add("Conv", {*graph.add_input("x", {DataType::f32, Shape{1, 4, 5, 7}}),
                                      graph.add_constant(numbers({6, 4, 1, 1}, 7))});
  ASSERT_TRUE(
      graph.add_output("y", *graph.add("Mul", {*sum, graph.add_constant(numbers({6, 1, 1}, 1))})));
  ASSERT_TRUE(graph.add_output("z", *graph.add("Relu", {*sum})));
  EXPECT_EQ(folded(graph), (Counts{3, 3}));
}

TEST(FoldFactors, leaves_weights_that_would_be_no_usual_numbers) {
  const auto left = [](const Constant& windows, float factor) {
    const ComputationGraph before =
        lowered(graph_of({1, 4, 5, 7}, windows, {}, false, {{"Mul", filled({6, 1, 1}, factor)}}));
    return fold_factors(before).computations.size() == before.computations.size();
  };
  EXPECT_FALSE(left(filled({6, 4, 1, 1}, 1), 1e-20F));
  EXPECT_TRUE(left(filled({6, 4, 1, 1}, 1e-15F), 1e-20F));
  EXPECT_TRUE(left(filled({6, 4, 1, 1}, 1e20F), 1e15F));
  EXPECT_TRUE(left(filled({6, 4, 1, 1}, 1), std::numeric_limits<float>::infinity()));
  EXPECT_TRUE(left(filled({6, 4, 1, 1}, std::numeric_limits<float>::quiet_NaN()), 2));
}

}  // namespace
}  // namespace lemma::backend
