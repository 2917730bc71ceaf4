// Passes that replace slow loops: the same results, and the slow loops are gone.

#include "backend/lower/separate_algorithms.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backend/layout/layout.h"
#include "backend/nest_algorithm.h"
#include "backend/pairs.h"
#include "tests/backend/computations.h"

namespace lemma::backend {
namespace {

using interpreter::Tensor;

void expect_same_results(const ComputationGraph& a, const ComputationGraph& b,
                         const interpreter::RandomRange& range = {}) {
  const std::vector<Tensor> expected = evaluated(a, range), actual = evaluated(b, range);
  ASSERT_EQ(expected.size(), actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(actual[i], expected[i]);
}

std::size_t algorithms(const ComputationGraph& graph) {
  return static_cast<std::size_t>(std::count_if(
      graph.computations.begin(), graph.computations.end(), [](const auto& computation) {
        const auto nest = nest_of(computation);
        return nest && find_nest_algorithm(*nest);
      }));
}

struct Operand {
  DataType type;
  Shape sizes;
};

/// One operator whose operands are inputs.
Graph graph_of(std::string_view name, const std::vector<Operand>& operands,
               const Attributes& attributes, std::size_t outputs = 1) {
  Graph graph;
  std::vector<ValueId> inputs;
  for (const Operand& operand : operands)
    inputs.push_back(
        *graph.add_input("x" + std::to_string(inputs.size()), {operand.type, operand.sizes}));
  const auto node = graph.add_operation(operator_named(name), inputs, attributes, outputs);
  EXPECT_TRUE(node) << node.error().message;
  for (std::uint32_t i = 0; i < outputs; ++i)
    EXPECT_TRUE(graph.add_output("y" + std::to_string(i), graph.node(*node).output(i)));
  return graph;
}

TEST(SeparateAlgorithms, positions_of_a_selection_are_computed_once) {
  const ComputationGraph before = lowered(graph_of(
      "TopK", {{DataType::f32, {3, 20}}}, {{"k", Dimension(4)}, {"axis", std::int64_t{1}}}, 2));
  const ComputationGraph after = separate_algorithms(before);
  EXPECT_EQ(algorithms(after), 1U);
  EXPECT_EQ(after.computations.size(), 2U);
  expect_same_results(before, after);
}

TEST(SeparateAlgorithms, scatters_become_passes_over_the_updates) {
  for (const DataType type : {DataType::f32, DataType::i8, DataType::i64})
    for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
      const ComputationGraph before =
          lowered(graph_of("ScatterND", {{type, {2, 4}}, {DataType::i64, {5, 1}}, {type, {5, 4}}},
                           {{"reduction", std::string(reduction)}}));
      const ComputationGraph after = separate_algorithms(before);
      EXPECT_EQ(algorithms(after), 1U) << reduction;
      EXPECT_EQ(after.computations.size(), 2U) << reduction;
      expect_same_results(before, after);
    }
}

TEST(SeparateAlgorithms, halves_are_not_rounded_between_two_steps) {
  const std::vector<Operand> operands = {
      {DataType::f16, {2, 4}}, {DataType::i64, {5, 1}}, {DataType::f16, {5, 4}}};
  for (const char* reduction : {"add", "max"}) {
    const ComputationGraph before =
        lowered(graph_of("ScatterND", operands, {{"reduction", std::string(reduction)}}));
    const ComputationGraph after = separate_algorithms(before);
    EXPECT_EQ(algorithms(after), std::string(reduction) == "max" ? 1U : 0U);
    expect_same_results(before, after);
  }
}

TEST(SplitByStride, parts_are_the_elements_of_transposed_convolutions) {
  struct Case {
    Shape input, weight, strides, pads, dilations, padding;
    std::int64_t group;
  };
  const std::vector<Case> cases = {
      {{1, 3, 5, 6}, {3, 4, 4, 4}, {2, 2}, {1, 1, 1, 1}, {1, 1}, {0, 0}, 1},
      {{2, 4, 5, 3}, {4, 2, 3, 3}, {2, 3}, {1, 0, 0, 2}, {1, 2}, {1, 0}, 2},
      {{1, 2, 4, 4}, {2, 2, 1, 2}, {3, 2}, {0, 0, 0, 0}, {1, 1}, {0, 1}, 1},
      {{1, 2, 4, 4}, {2, 2, 3, 3}, {2, 2}, {1, 1, 1, 1}, {2, 1}, {0, 0}, 1},
      {{1, 2, 7}, {2, 3, 5}, {4}, {2, 1}, {1}, {3}, 1}};
  std::size_t split = 0;
  for (const Case& shapes : cases) {
    const ComputationGraph before = lowered(
        graph_of("ConvTranspose", {{DataType::f32, shapes.input}, {DataType::f32, shapes.weight}},
                 {{"strides", shapes.strides},
                  {"pads", shapes.pads},
                  {"dilations", shapes.dilations},
                  {"output_padding", shapes.padding},
                  {"group", Dimension(shapes.group)}}));
    const ComputationGraph after = split_by_stride(before);
    if (after.computations.size() > before.computations.size()) ++split;
    expect_same_results(before, after);
  }
  // A kernel that is smaller than the stride leaves residues without a term, and so do steps with a common divisor.
  EXPECT_GE(split, 2U);
}

bool has_pairs(const ComputationGraph& graph) {
  return std::any_of(graph.computations.begin(), graph.computations.end(),
                     [](const auto& computation) {
                       const auto nest = nest_of(computation);
                       return nest && has_pair_sum(*nest);
                     });
}

/// All values of u8, and those of i8 that are not negative.
constexpr interpreter::RandomRange bytes = {-1, 1, 0, 255};

TEST(PairIntegers, products_of_quantized_matrices_are_exact) {
  for (const DataType a : {DataType::u8, DataType::i8})
    for (const DataType b : {DataType::u8, DataType::i8})
      for (const Shape& sizes : {Shape{16, 32, 24}, Shape{5, 33, 40}, Shape{1, 300, 30}}) {
        const ComputationGraph before = lowered(
            graph_of("MatMulInteger",
                     {{a, {sizes[0], sizes[1]}}, {b, {sizes[1], sizes[2]}}, {a, {}}, {b, {}}}, {}));
        const ComputationGraph after = pair_integers(before);
        EXPECT_TRUE(has_pairs(after));
        expect_same_results(before, after, bytes);
      }
}

/// Whole numbers in a type of floating point, behind the padding of a window.
TEST(PairIntegers, convolutions_of_whole_numbers_are_exact) {
  for (const std::int64_t channels : {4, 7})
    for (const bool is_whole : {true, false}) {
      Graph graph;
      const ValueId x = *graph.add_input("x", {DataType::u8, Shape{1, channels, 12, 10}});
      const ValueId zero = *graph.add_input("z", {DataType::u8, Shape{}});
      std::vector<float> weights(static_cast<std::size_t>(6 * channels * 9));
      for (std::size_t i = 0; i < weights.size(); ++i)
        weights[i] = static_cast<float>(i * 37 % 256) - (is_whole ? 128.0F : 127.5F);
      const ValueId w =
          graph.add_constant(Constant::of(DataType::f32, {6, channels, 3, 3}, weights));
      const auto cast = [&](ValueId value) {
        return *graph.add("Cast", {value}, {{"to", DataType::f32}});
      };
      const ValueId centered = *graph.add("Sub", {cast(x), cast(zero)});
      const auto y = graph.add("Conv", {centered, w}, {{"pads", Shape{1, 1, 1, 1}}});
      ASSERT_TRUE(y) << y.error().message;
      ASSERT_TRUE(graph.add_output("y", *y));
      const ComputationGraph before = lowered(graph), after = pair_integers(store_padding(before));
      EXPECT_EQ(has_pairs(after), is_whole);
      if (is_whole) expect_same_results(before, after, bytes);
    }
}

}  // namespace
}  // namespace lemma::backend
