// Whole numbers of f64 become numbers of f32: the same results, and only where f32 has all of them.

#include <gtest/gtest.h>

#include <algorithm>

#include "backend/layout/layout.h"
#include "tests/backend/computations.h"

namespace lemma::backend {
namespace {

/// A convolution in f64 of what a type has, with windows of one channel.
Graph graph_of(DataType type, const Constant& windows, bool is_read_twice = false) {
  Graph graph;
  const ValueId x = *graph.add_input("x", {type, Shape{1, 6, 9, 11}});
  const Attributes to_f64 = {{"to", DataType::f64}};
  const auto wide = graph.add("Cast", {x}, to_f64);
  EXPECT_TRUE(wide) << wide.error().message;
  const auto shifted = graph.add(
      "Sub", {*wide, graph.add_constant(Constant::of(DataType::f64, {}, std::vector<double>{3}))});
  const auto sum = graph.add("Conv", {*shifted, graph.add_constant(windows)},
                             {{"group", Dimension(6)}, {"pads", Shape{1, 1, 1, 1}}});
  EXPECT_TRUE(sum) << sum.error().message;
  const auto narrow = graph.add("Cast", {*sum}, {{"to", DataType::f32}});
  EXPECT_TRUE(graph.add_output("y", *narrow));
  if (is_read_twice) {
    EXPECT_TRUE(graph.add_output("z", *graph.add("Exp", {*sum})));
  }
  return graph;
}

Constant windows_of(double factor) {
  std::vector<double> elements(6 * 3 * 3);
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = factor * (static_cast<double>(i * 7 % 255) - 127);
  return Constant::of(DataType::f64, {6, 1, 3, 3}, elements);
}

/// Tensors of f64 before and after.
std::pair<std::size_t, std::size_t> wide_tensors(const Graph& graph) {
  const ComputationGraph before = lowered(graph), after = narrow_whole_numbers(before);
  const auto expected = evaluated(before), actual = evaluated(after);
  EXPECT_EQ(expected.size(), actual.size());
  for (std::size_t i = 0; i < std::min(expected.size(), actual.size()); ++i)
    EXPECT_TRUE(expected[i].constant() == actual[i].constant());
  const auto count = [](const ComputationGraph& computations) {
    return static_cast<std::size_t>(
        std::count_if(computations.buffers.begin(), computations.buffers.end(),
                      [](const Buffer& buffer) { return buffer.type == DataType::f64; }));
  };
  return {count(before), count(after)};
}

using Counts = std::pair<std::size_t, std::size_t>;

TEST(NarrowWholeNumbers, sums_of_bytes_are_exact) {
  EXPECT_EQ(wide_tensors(graph_of(DataType::u8, windows_of(1))), (Counts{5, 0}));
  EXPECT_EQ(wide_tensors(graph_of(DataType::i8, windows_of(1))), (Counts{5, 0}));
}

TEST(NarrowWholeNumbers, larger_sums_and_other_numbers_stay) {
  EXPECT_EQ(wide_tensors(graph_of(DataType::u8, windows_of(100))), (Counts{5, 5}));
  EXPECT_EQ(wide_tensors(graph_of(DataType::u8, windows_of(0.5))), (Counts{5, 5}));
  EXPECT_EQ(wide_tensors(graph_of(DataType::i32, windows_of(1))), (Counts{5, 5}));
}

TEST(NarrowWholeNumbers, what_others_need_in_f64_stays) {
  EXPECT_EQ(wide_tensors(graph_of(DataType::u8, windows_of(1), true)), (Counts{6, 6}));
}

}  // namespace
}  // namespace lemma::backend
