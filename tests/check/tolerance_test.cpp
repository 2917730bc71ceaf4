// How far results may be from those of the original.

#include "check/tolerance.h"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "ir/graph_text.h"

namespace lemma {
namespace {

Graph graph_of(const std::string& type) {
  auto graph = parse_graph("graph \"g\"\n  input %0 \"x\" : " + type +
                           "[4]\n  %1 = Relu(%0)\n  output \"y\" = %1\n");
  EXPECT_TRUE(graph.has_value());
  return std::move(*graph);
}

bool passes(const SampledTolerance& tolerance, std::vector<double> expected, std::size_t at,
            double error) {
  const interpreter::Tolerance allowed = tolerance_of_output(tolerance, expected);
  return error <= allowed.absolute + allowed.relative * std::abs(expected[at]);
}

TEST(Tolerance, ElementsMayCancel) {
  const SampledTolerance tolerance = tolerance_for(graph_of("f32"), {}, {});
  const std::vector<double> expected = {100, -90, 110, 1e-3, 95};
  EXPECT_TRUE(passes(tolerance, expected, 3, 1.5e-4));
  EXPECT_FALSE(passes(tolerance, expected, 3, 1e-3));
}

TEST(Tolerance, OneHugeElementDoesNotExcuseTheOthers) {
  const SampledTolerance tolerance = tolerance_for(graph_of("f32"), {}, {});
  const std::vector<double> expected = {0.5, -1e9, 0.25, 1, 0.75, 0, 0, 0, 0, 0, 0};
  EXPECT_FALSE(passes(tolerance, expected, 0, 1e-3));
  EXPECT_TRUE(passes(tolerance, expected, 1, 1e4));
}

TEST(Tolerance, ElementsThatAreNotFiniteDoNotCount) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const SampledTolerance tolerance = tolerance_for(graph_of("f32"), {}, {});
  const std::vector<double> expected = {0.5, infinity, std::nan(""), 1};
  EXPECT_FALSE(passes(tolerance, expected, 0, 1e-3));
  EXPECT_TRUE(std::isfinite(tolerance_of_output(tolerance, expected).absolute));
  EXPECT_DOUBLE_EQ(tolerance_of_output(tolerance, {}).absolute, tolerance.absolute);
  EXPECT_DOUBLE_EQ(tolerance_of_output(tolerance, std::array<double, 2>{0, 0}).absolute,
                   tolerance.absolute);
}

TEST(Tolerance, NarrowTypesCountForTheLargestElement) {
  const SampledTolerance half = tolerance_for(graph_of("f16"), {}, {});
  EXPECT_TRUE(half.of_largest);
  EXPECT_TRUE(passes(half, {1, 0.001}, 1, 0.01));
  const SampledTolerance single = tolerance_for(graph_of("f32"), {}, {});
  EXPECT_FALSE(single.of_largest);
  EXPECT_FALSE(passes(single, {1, 0.001}, 1, 0.01));
}

TEST(Tolerance, GivenNumbersAreTheWholeOfIt) {
  for (const char* type : {"f16", "f32", "f64"}) {
    SCOPED_TRACE(type);
    const SampledTolerance given = tolerance_for(graph_of(type), 1e-3, 1e-6);
    const interpreter::Tolerance allowed =
        tolerance_of_output(given, std::array<double, 3>{1, 100, 10});
    EXPECT_DOUBLE_EQ(allowed.relative, 1e-3);
    EXPECT_DOUBLE_EQ(allowed.absolute, 1e-6);
  }
}

}  // namespace
}  // namespace lemma
