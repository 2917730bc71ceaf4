#include "search/fold_constants.h"

#include <gtest/gtest.h>

#include "ir/check.h"
#include "ir/graph_text.h"

namespace lemma {
namespace {

Graph parsed(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.has_value()) << graph.error().message;
  return std::move(*graph);
}

TEST(FoldConstants, ComputesWhatDependsOnConstantsAlone) {
  const Graph graph = parsed(R"(graph "g"
  input %0 "x" : f32[2]
  %1 = constant f32[2] [1, 2]
  %2 = constant f32[2] [10, 20]
  %3 = Add(%1, %2)
  %4 = Mul(%3, %1)
  %5 = Add(%0, %4)
  output "y" = %5
)");
  const auto folded = fold_constants(graph, {});
  ASSERT_TRUE(folded.has_value()) << folded.error().message;
  EXPECT_EQ(print_graph(*folded), R"(graph "g"
  input %0 "x" : f32[2]
  %1 = constant f32[2] [11, 44]
  %2 = Add(%0, %1) : f32[2]
  output "y" = %2
)");
}

TEST(FoldConstants, AnOutputThatIsConstantBecomesAConstant) {
  const Graph graph = parsed(R"(graph "g"
  %1 = constant f32[2] [1, 2]
  %2 = Add(%1, %1)
  output "y" = %2
)");
  const auto folded = fold_constants(graph, {});
  ASSERT_TRUE(folded.has_value());
  EXPECT_NE(folded->constant_of(folded->outputs().front().value), nullptr);
}

TEST(FoldConstants, DoesNotInflate) {
  const Graph graph = parsed(R"(graph "g"
  input %0 "x" : f32[1000, 1000]
  %1 = constant f32[] [1]
  %2 = Expand{shape=[1000, 1000]}(%1)
  %3 = Add(%0, %2)
  output "y" = %3
)");
  const auto folded = fold_constants(graph, {});
  ASSERT_TRUE(folded.has_value());
  EXPECT_EQ(print_graph(*folded), print_graph(graph));
}

TEST(FoldConstants, WhatDependsOnOpaqueNodesStays) {
  const Graph graph = parsed(R"(graph "g"
  %1 = constant f32[2] [1, 2]
  %2 = opaque "" "DequantizeLinear" "" "not folded" (%1) : f32[2]
  %3 = Add(%2, %1)
  output "y" = %3
)");
  const auto folded = fold_constants(graph, {});
  ASSERT_TRUE(folded.has_value());
  EXPECT_EQ(print_graph(*folded), print_graph(graph));
}

}  // namespace
}  // namespace lemma
