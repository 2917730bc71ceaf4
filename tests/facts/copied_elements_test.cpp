// What operators copy, against the values that they have on numbered elements.

#include "facts/copied_elements.h"

#include <gtest/gtest.h>

#include "ir/graph_text.h"

namespace lemma {
namespace {

std::vector<std::int64_t> positions(const Graph& graph, std::size_t output,
                                    std::size_t limit = 1000) {
  CopiedElements copies(graph, limit);
  const auto elements = copies.of(graph.outputs()[output].value);
  std::vector<std::int64_t> result;
  if (!elements) return {-1};
  for (const auto& element : *elements) {
    EXPECT_EQ(element.value, graph.node(graph.inputs()[0]).output());
    result.push_back(element.position);
  }
  return result;
}

constexpr std::string_view moved = R"(graph "moved"
  input %0 "x" : f32[2, 3]
  %1 = Transpose{perm=[1, 0]}(%0) : f32[3, 2]
  %2, %3 = Split{axis=0, split=[1, 2]}(%1) : f32[1, 2], f32[2, 2]
  %4 = Concat{axis=0}(%3, %2) : f32[3, 2]
  %5 = Slice{starts=[0], ends=[3], axes=[0], steps=[2]}(%4) : f32[2, 2]
  %6 = Expand{shape=[2, 2, 2]}(%5) : f32[2, 2, 2]
  output "turned" = %4
  output "every other" = %5
  output "twice" = %6
)";

TEST(CopiedElements, AreFoundThroughOperatorsThatMoveThem) {
  const Graph graph = *parse_graph(moved);
  EXPECT_EQ(positions(graph, 0), (std::vector<std::int64_t>{1, 4, 2, 5, 0, 3}));
  EXPECT_EQ(positions(graph, 1), (std::vector<std::int64_t>{1, 4, 0, 3}));
  EXPECT_EQ(positions(graph, 2), (std::vector<std::int64_t>{1, 4, 0, 3, 1, 4, 0, 3}));
}

TEST(CopiedElements, TakeNoMoreStepsThanTheyMay) {
  const Graph graph = *parse_graph(moved);
  EXPECT_EQ(positions(graph, 0, 10), (std::vector<std::int64_t>{-1}));
}

TEST(CopiedElements, EndWhereSomethingIsComputed) {
  const Graph graph = *parse_graph(R"(graph "computed"
  input %0 "x" : f32[2]
  %1 = Relu(%0) : f32[2]
  %2 = Pad{mode="constant", pads=[1, 0], value=0.0}(%1) : f32[3]
  %3 = Unsqueeze{axes=[0]}(%2) : f32[1, 3]
  %4 = Cast{to=f64}(%0) : f64[2]
  output "y" = %3
  output "z" = %4
)");
  CopiedElements copies(graph, 1000);
  const ValueId pad{2}, y{3}, z{4};
  EXPECT_FALSE(copies.is_copy(pad));
  EXPECT_TRUE(copies.is_copy(y));
  EXPECT_FALSE(copies.is_copy(z));
  const auto elements = copies.of(y);
  ASSERT_TRUE(elements);
  for (std::size_t i = 0; i < elements->size(); ++i)
    EXPECT_EQ((*elements)[i], (CopiedElements::Element{pad, static_cast<std::int64_t>(i)}));
}

}  // namespace
}  // namespace lemma
