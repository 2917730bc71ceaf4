// Operators that draw random numbers: the same numbers for the same seed, others for other nodes, and what no draw gives.

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "runner/drawing.h"
#include "tests/frontend_onnx/models.h"
#include "tests/runner/run_text.h"

namespace lemma::runner {
namespace {

using ::testing::HasSubstr;
using Values = std::vector<RunTimeValue>;

/// A model that was run, and what it drew.
class DrawnRun {
 public:
  DrawnRun(const std::string& signature, const std::string& nodes, const Values& inputs,
           std::uint64_t seed = 0)
      : model_(imported(signature, nodes, inputs)), drawing_{model_.graph, seed, 0, {}} {
    RunOptions options;
    options.drawing = &drawing_;
    auto outputs = run_graph(model_.graph, model_.envelope, inputs, options);
    EXPECT_TRUE(outputs) << outputs.error().message;
    if (outputs) outputs_ = std::move(*outputs);
  }

  const Values& outputs() const { return outputs_; }
  std::vector<bool> drawn() const { return drawn_outputs(drawing_); }
  /// Empty: some draw gives these.
  std::string refusal(const Values& outputs) const {
    const auto admitted = could_be_drawn(drawing_, outputs);
    return admitted ? "" : admitted.error().message;
  }

 private:
  static OnnxModel imported(const std::string& signature, const std::string& nodes,
                            const Values& inputs) {
    const auto message = frontend::parse_text("<ir_version: 8, opset_import: [\"\" : 17]> g " +
                                              signature + " { " + nodes + " }");
    ImportOptions reading;
    reading.trusts_declarations = false;
    for (int i = 0; i < message.graph().input_size(); ++i)
      reading.shapes.emplace(message.graph().input(i).name(),
                             *type_of(inputs[static_cast<std::size_t>(i)]).shape);
    auto model = frontend::import_message(message, reading);
    EXPECT_TRUE(model) << model.error().message;
    return std::move(*model);
  }

  OnnxModel model_;
  Drawing drawing_;
  Values outputs_;
};

constexpr const char* two_uniform =
    "a = RandomUniform <shape = [3, 2]> ()  b = RandomUniform <shape = [3, 2]> ()";

TEST(Drawing, ASeedOfTheRunGivesTheSameNumbers) {
  const std::string signature = "() => (float[M, N] a, float[M, N] b)";
  const DrawnRun first(signature, two_uniform, {}), again(signature, two_uniform, {}),
      other(signature, two_uniform, {}, 7);
  EXPECT_EQ(shown(first.outputs()[0]), shown(again.outputs()[0]));
  EXPECT_NE(shown(first.outputs()[0]), shown(other.outputs()[0]));
  EXPECT_THAT(shown(first.outputs()[0]), HasSubstr("f32[3, 2]"));
}

TEST(Drawing, EqualNodesWithoutASeedAreNotOneValue) {
  const DrawnRun run("() => (float[M, N] a, float[M, N] b)", two_uniform, {});
  EXPECT_NE(shown(run.outputs()[0]), shown(run.outputs()[1]));
}

TEST(Drawing, ASeedOfTheNodeGivesTheSameNumbers) {
  const DrawnRun run(
      "() => (float[N] a, float[N] b, float[N] c)",
      "a = RandomNormal <shape = [4], seed = 2.0> ()  b = RandomNormal <shape = [4], seed = "
      "2.0> ()  c = RandomNormal <shape = [4], seed = 3.0> ()",
      {});
  EXPECT_EQ(shown(run.outputs()[0]), shown(run.outputs()[1]));
  EXPECT_NE(shown(run.outputs()[0]), shown(run.outputs()[2]));
}

TEST(Drawing, NumbersAreDistributedAsTheyShouldBe) {
  const DrawnRun run(
      "(float[N] p) => (float[N] u, double[N] n, int64[N] b)",
      "u = RandomUniformLike <low = 2.0, high = 4.0> (p)  n = RandomNormalLike <dtype = 11, "
      "mean = 5.0, scale = 2.0> (p)  b = Bernoulli <dtype = 7> (p)",
      {floats({20'000}, std::vector<float>(20'000, 0.25F))});
  const auto mean = [&](std::size_t i) {
    double sum = 0;
    for (const double element : run.outputs()[i].tensor()->reals()) sum += element;
    return sum / 20'000;
  };
  const auto uniform = run.outputs()[0].tensor()->reals();
  EXPECT_GE(*std::min_element(uniform.begin(), uniform.end()), 2);
  EXPECT_LE(*std::max_element(uniform.begin(), uniform.end()), 4);
  EXPECT_NEAR(mean(0), 3, 0.02);
  EXPECT_NEAR(mean(1), 5, 0.06);
  EXPECT_NEAR(mean(2), 0.25, 0.015);
  double squares = 0;
  for (const double element : run.outputs()[1].tensor()->reals())
    squares += (element - 5) * (element - 5);
  EXPECT_NEAR(squares / 20'000, 4, 0.2);
  EXPECT_EQ(run.refusal(run.outputs()), "");
}

TEST(Drawing, ClassesAreDrawnByTheirWeights) {
  const float never = -1000;
  const DrawnRun run("(float[M, N] x) => (int64[M, K] y)",
                     "y = Multinomial <dtype = 7, sample_size = 5> (x)",
                     {floats({2, 3}, {never, 0, never, 1, never, never})});
  EXPECT_EQ(shown(run.outputs()[0]), "i64[2, 5] 1 1 1 1 1 0 0 0 0 0");
  EXPECT_EQ(run.refusal(run.outputs()), "");
  EXPECT_THAT(run.refusal({integers({2, 5}, {1, 1, 1, 1, 1, 0, 0, 3, 0, 0})}),
              HasSubstr("Multinomial gives this: element 7 is 3"));
}

const Values training = {floats({4}, {1, -2, 3, 0}), floats({}, {0.75}), boolean(true)};

TEST(Drawing, WhatDropoutKeepsIsScaled) {
  const DrawnRun run("(float[N] x, float r, bool t) => (float[N] y, bool[N] z)",
                     "y, z = Dropout(x, r, t)", training);
  EXPECT_EQ(run.refusal(run.outputs()), "");
  const auto mask = [](std::vector<std::uint8_t> kept) {
    return Constant::of(DataType::boolean, {4}, kept);
  };
  EXPECT_EQ(run.refusal({floats({4}, {4, 0, 12, 0}), mask({1, 0, 1, 1})}), "");
  EXPECT_THAT(run.refusal({floats({4}, {1, 0, 12, 0}), mask({1, 0, 1, 1})}),
              HasSubstr("Dropout gives this: element 0 is 1, of 1 with a ratio of 0.75, kept"));
  EXPECT_THAT(run.refusal({floats({4}, {4, 0, 12, 0}), mask({1, 1, 1, 1})}),
              HasSubstr("element 1 is 0, of -2 with a ratio of 0.75, kept"));
  EXPECT_THAT(run.refusal({floats({4}, {4, 0, 12, 0}), mask({1, 0, 0, 1})}),
              HasSubstr("element 2 is 12, of 3 with a ratio of 0.75, dropped"));
}

TEST(Drawing, OutputsDependOnWhatIsDrawnOrDoNot) {
  const DrawnRun run("(float[N] x) => (float[N] a, float[N] b, float[N] c)",
                     "u = RandomUniformLike(x)  a = Relu(x)  b = Add(a, u)  c = Neg(b)",
                     {floats({2}, {1, 2})});
  EXPECT_EQ(run.drawn(), (std::vector<bool>{false, true, true}));
  const DrawnRun body(
      "(float[N] x, bool i) => (float[N] y)",
      "y = If (i) <then_branch = g1 () => (float[N] a) { a = RandomUniformLike(x) }, "
      "else_branch = g2 () => (float[N] b) { b = Neg(x) }>",
      {floats({2}, {1, 2}), boolean(true)});
  EXPECT_EQ(body.drawn(), std::vector<bool>{true});
  EXPECT_EQ(body.refusal(body.outputs()), "");
}

TEST(Drawing, WithoutNumbersNothingIsDrawn) {
  EXPECT_THAT(
      shown(run_text("<ir_version: 8, opset_import: [\"\" : 17]> g () => (float[N] y) { y = "
                     "RandomNormal <shape = [2]> () }",
                     {})),
      HasSubstr("RandomNormal draws random numbers"));
}

}  // namespace
}  // namespace lemma::runner
