// Selections among elements that may be NaN (docs/semantics.md, "Selections of NaN"): positions are those of
// NaN where there is one, and never outside the tensor.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "interpreter/run.h"

namespace lemma {
namespace {

using interpreter::Tensor;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<Tensor> run(std::string_view op, DataType type, const std::vector<double>& elements,
                        const std::vector<std::int64_t>& sizes, Attributes attributes,
                        std::size_t output_count) {
  Graph graph;
  TensorType given{type, Shape()};
  for (const std::int64_t size : sizes) given.shape->push_back(Dimension(size));
  const ValueId x = *graph.add_input("x", given);
  const auto added =
      graph.add_operation(operator_named(op), {x}, std::move(attributes), output_count);
  EXPECT_TRUE(added) << (added ? "" : added.error().message);
  for (std::uint32_t k = 0; k < output_count; ++k)
    EXPECT_TRUE(graph.add_output("y" + std::to_string(k), graph.node(*added).output(k)));
  const std::vector<interpreter::NamedTensor> inputs = {
      {"x", Tensor::from_reals(type, sizes, elements)}};
  auto results = interpreter::run(graph, inputs);
  EXPECT_TRUE(results) << (results ? "" : results.error().message);
  return results ? *results : std::vector<Tensor>();
}

/// Rows with numbers, equal ones among them, infinities and NaN.
std::vector<std::vector<double>> rows() {
  std::vector<std::vector<double>> result = {{1, 5, 2, nan},
                                             {nan, 1, 5, 2},
                                             {1, nan, 7, nan},
                                             {nan, nan, nan, nan},
                                             {3, 3, 1, 3},
                                             {1, infinity, nan, -infinity},
                                             {-infinity, nan, -infinity, 0},
                                             {infinity, infinity, 0, nan}};
  std::mt19937 random(7);
  for (int i = 0; i < 40; ++i) {
    result.emplace_back(4);
    for (double& element : result.back())
      element = random() % 3 == 0 ? nan : static_cast<double>(random() % 4) - 2;
  }
  return result;
}

/// Of the extreme elements, or of NaN if there is one, the first or last.
std::int64_t expected_extreme(const std::vector<double>& row, bool largest, bool last) {
  const bool has_nan = std::any_of(row.begin(), row.end(), [](double x) { return std::isnan(x); });
  const double extreme = largest ? *std::max_element(row.begin(), row.end())
                                 : *std::min_element(row.begin(), row.end());
  std::int64_t found = -1;
  for (std::size_t i = 0; i < row.size(); ++i)
    if (has_nan ? std::isnan(row[i]) : row[i] == extreme)
      if (found < 0 || last) found = static_cast<std::int64_t>(i);
  return found;
}

TEST(NanSelection, ArgMaxAndArgMinGiveThePositionOfNan) {
  for (const DataType type : {DataType::f16, DataType::f32, DataType::f64, DataType::bf16})
    for (const std::vector<double>& row : rows())
      for (const bool largest : {true, false})
        for (const bool last : {false, true}) {
          const auto results = run(largest ? "ArgMax" : "ArgMin", type, row, {4},
                                   {{"axis", std::int64_t{0}},
                                    {"keepdims", std::int64_t{0}},
                                    {"select_last_index", static_cast<std::int64_t>(last)}},
                                   1);
          ASSERT_EQ(results.size(), 1U);
          EXPECT_EQ(results[0].integers(),
                    std::vector<std::int64_t>{expected_extreme(row, largest, last)})
              << name(type) << " " << ::testing::PrintToString(row);
        }
}

TEST(NanSelection, TopKOrdersNanAboveAllNumbers) {
  for (const std::vector<double>& row : rows())
    for (const bool largest : {true, false})
      for (std::int64_t k = 1; k <= 4; ++k) {
        const auto results = run("TopK", DataType::f32, row, {4},
                                 {{"axis", std::int64_t{0}},
                                  {"k", Dimension(k)},
                                  {"largest", static_cast<std::int64_t>(largest)}},
                                 2);
        ASSERT_EQ(results.size(), 2U);
        std::vector<std::int64_t> order(row.size());
        std::iota(order.begin(), order.end(), 0);
        const auto is_below = [&row](std::int64_t a, std::int64_t b) {
          const double x = row[static_cast<std::size_t>(a)], y = row[static_cast<std::size_t>(b)];
          return std::isnan(y) ? !std::isnan(x) : x < y;
        };
        std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
          return largest ? is_below(b, a) : is_below(a, b);
        });
        order.resize(static_cast<std::size_t>(k));
        EXPECT_EQ(results[1].integers(), order) << ::testing::PrintToString(row);
        const std::vector<double> values = results[0].reals();
        for (std::size_t i = 0; i < order.size(); ++i) {
          const double wanted = row[static_cast<std::size_t>(order[i])];
          EXPECT_TRUE(values[i] == wanted || (std::isnan(values[i]) && std::isnan(wanted)));
        }
      }
}

}  // namespace
}  // namespace lemma
