// What rounding moves is measured: long and cancelling sums, jumps of quantisers, and nothing else.

#include "check/rounding_spread.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "interpreter/random.h"
#include "ir/graph_text.h"

namespace lemma {
namespace {

using interpreter::NamedTensor;
using interpreter::Tensor;

class RoundingSpreads : public ::testing::Test {
 protected:
  /// Of the only output of a graph with one input "x".
  OutputAllowance allowance(const std::string& text, const Tensor& x) {
    auto graph = parse_graph(text);
    EXPECT_TRUE(graph.has_value()) << text;
    inputs_ = {{"x", x}};
    const auto outputs = interpreter::run(*graph, inputs_);
    EXPECT_TRUE(outputs.has_value());
    output_ = outputs->front();
    return output_allowances(*graph, inputs_, *outputs, {}, 1).front();
  }

  static Tensor random(std::int64_t count, double scale, DataType type = DataType::f32) {
    const Tensor drawn = interpreter::random_tensor(DataType::f64, {count}, 3, 5);
    std::vector<double> elements = drawn.reals();
    for (double& element : elements) element *= scale;
    return Tensor::from_reals(type, {count}, elements);
  }

  /// The output with some elements changed.
  Tensor changed(double by, std::size_t count = 1) const {
    std::vector<double> elements = output_.reals();
    for (std::size_t i = 0; i < count; ++i) elements[i] += by;
    return Tensor::from_reals(output_.data_type(), output_.sizes(), elements);
  }

  std::vector<NamedTensor> inputs_;
  Tensor output_;
};

std::string graph_of(const std::string& lines, std::int64_t size, const std::string& type = "f32") {
  return "graph \"g\"\n  input %0 \"x\" : " + type + "[" + std::to_string(size) + "]\n" + lines;
}

TEST_F(RoundingSpreads, TheScaleOfWhatCancelsCounts) {
  const std::string sum =
      graph_of("  %1 = ReduceSum{axes=[0], keepdims=0}(%0)\n  output \"y\" = %1\n", 4096);
  const OutputAllowance small = allowance(sum, random(4096, 1));
  const OutputAllowance large = allowance(sum, random(4096, 1e6));
  EXPECT_GT(small.common, 1e-7);
  EXPECT_LT(small.common, 1e-3);
  EXPECT_NEAR(large.common / small.common, 1e6, 1e6);
  EXPECT_TRUE(is_within(changed(1), output_, large));
  EXPECT_FALSE(is_within(changed(1e4), output_, large));
}

TEST_F(RoundingSpreads, CopiesMoveByTheirOwnRoundingsOnly) {
  const OutputAllowance allowed =
      allowance(graph_of("  %1 = Neg(%0)\n  output \"y\" = %1\n", 64), random(64, 1e-6));
  EXPECT_LT(allowed.common, 1e-11);
  EXPECT_FALSE(is_within(changed(1e-9), output_, allowed));
  EXPECT_TRUE(is_within(output_, output_, allowed));
}

TEST_F(RoundingSpreads, SmallIntegersAreExact) {
  std::vector<double> elements(32, 3);
  const OutputAllowance allowed =
      allowance(graph_of("  %1 = Mul(%0, %0)\n  output \"y\" = %1\n", 32),
                Tensor::from_reals(DataType::f32, {32}, elements));
  EXPECT_EQ(allowed.common, 0);
  EXPECT_EQ(allowed.jumps, 0);
}

TEST_F(RoundingSpreads, ElementsBetweenTwoStepsMayJumpOnce) {
  // Every 16th element lies between two integers.
  std::vector<double> elements(256);
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = static_cast<double>(i) + (i % 16 == 0 ? 0.5 : 0.25);
  const OutputAllowance allowed =
      allowance(graph_of("  %1 = Round(%0)\n  output \"y\" = %1\n", 256),
                Tensor::from_reals(DataType::f32, {256}, elements));
  EXPECT_LT(allowed.common, 0.1);
  EXPECT_GT(allowed.jumps, 4);
  EXPECT_LT(allowed.jumps, 80);
  EXPECT_TRUE(is_within(changed(1, 4), output_, allowed));
  EXPECT_FALSE(is_within(changed(2, 4), output_, allowed));
  EXPECT_FALSE(is_within(changed(1, 100), output_, allowed));
}

TEST_F(RoundingSpreads, IntegersThatDoNotMoveAreExact) {
  const OutputAllowance allowed =
      allowance(graph_of("  %1 = Cast{to=i32}(%0)\n  output \"y\" = %1\n", 64), random(64, 100));
  const OutputAllowance nothing;
  EXPECT_EQ(allowed.relative, nothing.relative);
  EXPECT_EQ(allowed.common, nothing.common);
}

}  // namespace
}  // namespace lemma
