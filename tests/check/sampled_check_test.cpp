#include "check/sampled_check.h"
#include "tests/ir/parsed_graph.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lemma {
namespace {

using testing::parsed;

constexpr std::string_view product_of_sum = R"(graph "g"
  input %0 "x" : f32[N, 4]
  input %1 "y" : f32[N, 4]
  %2 = Add(%0, %1)
  %3 = Mul(%2, %2)
  output "z" = %3
)";

TEST(SampledCheck, EqualGraphsPass) {
  const Graph original = parsed(product_of_sum);
  const Graph candidate = parsed(R"(graph "g"
  input %0 "x" : f32[N, 4]
  input %1 "y" : f32[N, 4]
  %2 = Add(%1, %0)
  %3 = Mul(%2, %2)
  output "z" = %3
)");
  const auto check = compare_on_random_inputs(original, candidate, {.samples = 3});
  ASSERT_TRUE(check.has_value()) << check.error().message;
  EXPECT_TRUE(check->passed);
  EXPECT_EQ(check->samples, 3);
}

/// The largest number in the inputs for another judge of a Softmax in this type.
double largest_input_for_second_judge(const std::string& type) {
  const Graph original = parsed("graph \"g\"\n  input %0 \"x\" : " + type +
                                "[3, 8]\n  %1 = Softmax{axis=1}(%0)\n  output \"y\" = %1\n");
  const auto reference = SampledReference::compute(original, {.adversarial_seconds = 10});
  EXPECT_TRUE(reference.has_value());
  double largest = 0;
  const auto sets = reference->inputs_for_second_judge(100, {});
  EXPECT_FALSE(sets.empty());
  for (const auto& inputs : sets)
    for (const double element : inputs.front().value.reals())
      largest = std::max(largest, std::abs(element));
  return largest;
}

TEST(SampledCheck, SecondJudgeIsNotAskedWhereOneRoundingDecides) {
  EXPECT_GT(largest_input_for_second_judge("f64"), 100);
  EXPECT_LT(largest_input_for_second_judge("f16"), 100);
  EXPECT_GE(largest_input_for_second_judge("f16"), 0.5);
}

/// Of each symbol alone in an axis of the only input.
interpreter::Sizes sizes_found_for(const std::string& text) {
  const Graph original = parsed(text);
  const auto reference = SampledReference::compute(original, {});
  EXPECT_TRUE(reference.has_value()) << reference.error().message;
  if (!reference) return {};
  return reference->inputs_for_second_judge(1, {}).front().front().value.sizes();
}

TEST(SampledCheck, SizesAreLookedForUntilTheModelCanBeComputed) {
  EXPECT_EQ(sizes_found_for(R"(graph "g"
  input %0 "x" : f32[N]
  %1 = Reshape{shape=[5, floordiv(N, 5)]}(%0)
  output "y" = %1
)"),
            (interpreter::Sizes{5}));
  // A batch of one image, which has to be at least 33 pixels wide.
  EXPECT_EQ(sizes_found_for(R"(graph "g"
  input %0 "x" : f32[N, 1, H, H]
  %1 = Reshape{shape=[1, H, H]}(%0)
  %2 = Slice{axes=[1, 2], starts=[0, 0], ends=[33, 33]}(%1)
  %3 = Reshape{shape=[1089]}(%2)
  output "y" = %3
)"),
            (interpreter::Sizes{1, 1, 48, 48}));
}

TEST(SampledCheck, ADifferenceIsShown) {
  const Graph original = parsed(product_of_sum);
  const Graph candidate = parsed(R"(graph "g"
  input %0 "x" : f32[N, 4]
  input %1 "y" : f32[N, 4]
  %2 = Sub(%0, %1)
  %3 = Mul(%2, %2)
  output "z" = %3
)");
  const auto check = compare_on_random_inputs(original, candidate, {});
  ASSERT_TRUE(check.has_value());
  EXPECT_FALSE(check->passed);
  EXPECT_NE(check->difference.find("'z'"), std::string::npos) << check->difference;
  EXPECT_GT(check->smallest_passing_scale, 1);
}

TEST(SampledCheck, OpaqueNodesAreCut) {
  auto with = [](std::string_view operation) {
    return parsed(std::string(R"(graph "g"
  input %0 "x" : f32[4]
  %1 = )") + std::string(operation) +
                  R"((%0, %0)
  %2 = opaque "com.example" "Widget" "" "unknown" (%1) : f32[4]
  %3 = Add(%2, %1)
  output "z" = %3
)");
  };
  const auto same = compare_on_random_inputs(with("Mul"), with("Mul"), {});
  ASSERT_TRUE(same.has_value()) << same.error().message;
  EXPECT_TRUE(same->passed);
  const auto other = compare_on_random_inputs(with("Mul"), with("Add"), {});
  ASSERT_TRUE(other.has_value());
  EXPECT_FALSE(other->passed);
}

/// A file may declare that results of two opaque nodes have a size in common. They are drawn here, of several sizes.
TEST(SampledCheck, SizesThatResultsHaveInCommonAreNotContradicted) {
  auto with = [](std::string_view left, std::string_view right, std::string_view operation) {
    return parsed(fmt::format(R"(graph "g"
  input %0 "x" : f32[n]
  %1 = opaque "com.example" "Left" "" "unknown" (%0) : f32[{}]
  %2 = opaque "com.example" "Right" "" "unknown" (%0) : f32[{}]
  %3 = {}(%1)
  output "z" = %3
  output "w" = %2
)",
                              left, right, operation));
  };
  const SampledCheckOptions options{.adversarial_seconds = 30};
  const auto same = compare_on_random_inputs(with("a", "b", "Neg"), with("a", "a", "Neg"), options);
  ASSERT_TRUE(same.has_value()) << same.error().message;
  EXPECT_TRUE(same->passed) << same->difference;
  EXPECT_GT(same->samples + same->adversarial, 0);
  const auto other =
      compare_on_random_inputs(with("a", "b", "Neg"), with("a", "a", "Abs"), options);
  ASSERT_TRUE(other.has_value()) << other.error().message;
  EXPECT_FALSE(other->passed);
}

/// Adds a large number and takes it away again, which loses digits in f32: some 3e-5 here, where
/// elements are of all magnitudes up to 3.
TEST(SampledCheck, InsideALargeElementExcusesMoreRounding) {
  auto with = [](std::string_view last) {
    return parsed(std::string(R"(graph "g"
  input %0 "x" : f32[100]
  %1 = ConstantOfShape{shape=[], value=1000.0}()
  %2 = Add(%0, %1)
  %3 = Sub(%2, %1)
  %4 = opaque "com.example" "Widget" "" "unknown" (%3) : f32[100]
)") + std::string(last));
  };
  auto without = [](std::string_view last) {
    return parsed(std::string(R"(graph "g"
  input %3 "x" : f32[100]
  %4 = opaque "com.example" "Widget" "" "unknown" (%3) : f32[100]
)") + std::string(last));
  };
  const auto inside =
      compare_on_random_inputs(with("output \"z\" = %4\n"), without("output \"z\" = %4\n"), {});
  ASSERT_TRUE(inside.has_value()) << inside.error().message;
  EXPECT_TRUE(inside->passed) << inside->difference;
  const auto output =
      compare_on_random_inputs(with("output \"z\" = %3\n"), without("output \"z\" = %3\n"), {});
  ASSERT_TRUE(output.has_value()) << output.error().message;
  EXPECT_FALSE(output->passed);
}

TEST(SampledCheck, AnOriginalThatCannotRunIsAnError) {
  const Graph original = parsed(R"(graph "g"
  input %0 "x" : f32[4]
  input %1 "i" : i64[4]
  %2 = constant i64[] [7]
  %3 = Add(%1, %2)
  %4 = Gather{axis=0}(%0, %3)
  output "z" = %4
)");
  EXPECT_FALSE(compare_on_random_inputs(original, original, {}).has_value());
}

}  // namespace
}  // namespace lemma
