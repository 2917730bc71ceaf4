// Passes that replace slow loops: the same results, and the slow loops are gone.

#include "backend/lower/separate_algorithms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

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
      // What replaces elements is done to the result itself.
      EXPECT_EQ(after.computations.size(), std::string(reduction) == "none" ? 1U : 2U) << reduction;
      expect_same_results(before, after);
    }
}

TEST(SeparateAlgorithms, transforms_are_computations_of_their_own) {
  for (const std::int64_t onesided : {0, 1}) {
    const ComputationGraph before = lowered(
        graph_of("DFT", {{DataType::f32, {2, 17, 2}}},
                 {{"inverse", onesided}, {"onesided", onesided}, {"axis", std::int64_t{1}}}));
    const ComputationGraph after = separate_algorithms(before);
    EXPECT_EQ(algorithms(after), 1U);
    expect_same_results(before, after);
  }
  // Of so few terms the loops are as fast.
  EXPECT_EQ(
      algorithms(separate_algorithms(lowered(graph_of("DFT", {{DataType::f32, {2, 15, 2}}}, {})))),
      0U);
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

/// Sums of products of so many elements of each group, over all computations.
std::size_t sums_of_groups(const ComputationGraph& graph, std::int64_t elements) {
  std::size_t count = 0;
  for (const Computation& computation : graph.computations) {
    const auto nest = nest_of(computation);
    for (lowering::TermNumber id = 0; nest && id < nest->graph.size(); ++id)
      if (const auto sum = find_pair_sum(*nest, id)) count += sum->elements == elements ? 1 : 0;
  }
  return count;
}

/// Integers from low on, all of them again and again.
template <typename T>
Constant repeated(DataType type, const std::vector<std::int64_t>& sizes, int low, int count) {
  std::int64_t elements = 1;
  for (const std::int64_t size : sizes) elements *= size;
  std::vector<T> contents;
  for (std::int64_t i = 0; i < elements; ++i)
    contents.push_back(static_cast<T>(low + i * 37 % count));
  return Constant::of(type, sizes, contents);
}

/// Weights of all their values, and zero points that are known or not.
TEST(PairIntegers, products_with_weights_of_bytes_are_exact) {
  for (const DataType type : {DataType::u8, DataType::i8})
    for (const bool weights_have_sign : {true, false})
      for (const bool zero_is_known : {true, false})
        for (const Shape& sizes : {Shape{16, 32, 24}, Shape{5, 33, 40}, Shape{1, 300, 64}}) {
          Graph graph;
          const ValueId a = *graph.add_input("a", {type, Shape{sizes[0], sizes[1]}});
          const std::vector<std::int64_t> of_weights = {sizes[1].offset(), sizes[2].offset()};
          const ValueId b = graph.add_constant(
              weights_have_sign ? repeated<std::int8_t>(DataType::i8, of_weights, -128, 256)
                                : repeated<std::uint8_t>(DataType::u8, of_weights, 0, 256));
          const ValueId zero =
              zero_is_known ? graph.add_constant(type == DataType::u8
                                                     ? repeated<std::uint8_t>(type, {}, 3, 1)
                                                     : repeated<std::int8_t>(type, {}, -7, 1))
                            : *graph.add_input("z", {type, Shape{}});
          const ValueId zero_of_weights = graph.add_constant(
              weights_have_sign ? repeated<std::int8_t>(DataType::i8, {}, 0, 1)
                                : repeated<std::uint8_t>(DataType::u8, {}, 128, 1));
          const auto y = graph.add("MatMulInteger", {a, b, zero, zero_of_weights}, {});
          ASSERT_TRUE(y) << y.error().message;
          ASSERT_TRUE(graph.add_output("y", *y));
          const ComputationGraph before = lowered(graph), after = pair_integers(before);
          EXPECT_EQ(sums_of_groups(after, 4), 1U);
          expect_same_results(before, after, bytes);
        }
}

/// Weights with a sign and a zero point that no byte has stay in pairs.
TEST(PairIntegers, products_that_no_bytes_have_are_of_pairs) {
  Graph graph;
  const ValueId a = *graph.add_input("a", {DataType::u8, Shape{6, 32}});
  const ValueId b = graph.add_constant(repeated<std::uint8_t>(DataType::u8, {32, 24}, 0, 256));
  const ValueId zero = graph.add_constant(repeated<std::uint8_t>(DataType::u8, {}, 100, 1));
  ASSERT_TRUE(graph.add_output("y", *graph.add("MatMulInteger", {a, b, zero, zero}, {})));
  const ComputationGraph before = lowered(graph), after = pair_integers(before);
  EXPECT_EQ(sums_of_groups(after, 4), 0U);
  EXPECT_EQ(sums_of_groups(after, 2), 1U);
  expect_same_results(before, after, bytes);
}

/// The padding is the zero point then, and groups of channels have sums of their own.
TEST(PairIntegers, windows_of_bytes_are_exact) {
  for (const DataType type : {DataType::u8, DataType::i8})
    for (const std::int64_t groups : {1, 2})
      for (const std::int64_t stride : {1, 2}) {
        Graph graph;
        const ValueId x = *graph.add_input("x", {type, Shape{1, 8 * groups, 9, 10}});
        const ValueId w =
            graph.add_constant(repeated<double>(DataType::f64, {6 * groups, 8, 3, 3}, -128, 256));
        const ValueId zero = *graph.add_input("z", {type, Shape{}});
        const auto cast = [&](ValueId value) {
          return *graph.add("Cast", {value}, {{"to", DataType::f64}});
        };
        const ValueId centered = *graph.add("Sub", {cast(x), cast(zero)});
        const auto y = graph.add("Conv", {centered, w},
                                 {{"pads", Shape{1, 1, 1, 1}},
                                  {"strides", Shape{stride, stride}},
                                  {"group", Dimension(groups)}});
        ASSERT_TRUE(y) << y.error().message;
        ASSERT_TRUE(graph.add_output("y", *y));
        const ComputationGraph before = lowered(graph),
                               after = pair_integers(store_padding(before));
        EXPECT_EQ(sums_of_groups(after, 4), 1U) << groups << " groups, stride " << stride;
        expect_same_results(before, after, bytes);
      }
}

/// Whole numbers times scales: of all weights, or of each column. One weight beside them is enough to keep the sum as it is.
TEST(PairIntegers, scales_leave_the_sum) {
  for (const bool by_column : {false, true})
    for (const bool is_whole : {true, false}) {
      constexpr std::int64_t terms = 48, columns = 32;
      std::vector<float> weights;
      for (std::int64_t i = 0; i < terms * columns; ++i) {
        const auto number = static_cast<float>(i * 37 % 255 - 127);
        const float scale = by_column ? 0.013F + 0.0007F * static_cast<float>(i % columns) : 0.013F;
        weights.push_back(number * scale);
      }
      if (!is_whole) weights[5] += 0.0005F;
      Graph graph;
      const ValueId x = *graph.add_input("x", {DataType::u8, Shape{7, terms}});
      const ValueId scale =
          graph.add_constant(Constant::of(DataType::f32, {}, std::vector{0.037F}));
      const ValueId zero = graph.add_constant(repeated<std::uint8_t>(DataType::u8, {}, 119, 1));
      const ValueId real = *graph.add("DequantizeLinear", {x, scale, zero}, {});
      const ValueId w = graph.add_constant(Constant::of(DataType::f32, {terms, columns}, weights));
      const auto y = graph.add("MatMul", {real, w}, {});
      ASSERT_TRUE(y) << y.error().message;
      ASSERT_TRUE(graph.add_output("y", *y));
      const ComputationGraph before = lowered(graph), after = pair_integers(before);
      EXPECT_EQ(sums_of_groups(after, 4), is_whole ? 1U : 0U);
      const Tensor expected = evaluated(before, bytes)[0], actual = evaluated(after, bytes)[0];
      ASSERT_EQ(expected.element_count(), actual.element_count());
      double greatest = 0;
      for (const double value : expected.reals()) greatest = std::max(greatest, std::abs(value));
      for (std::int64_t i = 0; i < actual.element_count(); ++i)
        EXPECT_NEAR(actual.reals()[static_cast<std::size_t>(i)],
                    expected.reals()[static_cast<std::size_t>(i)], 1e-5 * greatest);
    }
}

}  // namespace
}  // namespace lemma::backend
