#include "search/numbers.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "ir/graph_text.h"
#include "search/fold_constants.h"
#include "tests/ir/parsed_graph.h"

namespace lemma {
namespace {

using testing::parsed;

constexpr std::string_view sums = R"(graph "g"
  input %0 "x" : f32[2]
  %1 = constant f32[] [3]
  %2 = constant f32[1] [0.1]
  %3 = constant f32[2] [1, 2]
  %4 = Add(%0, %1)
  %5 = Add(%4, %2)
  %6 = Add(%5, %3)
  %7 = Add(%6, %1)
  output "y" = %7
)";

TEST(Numbers, ConstantsOfOneElementAreOperators) {
  const auto numbers = with_numbers_as_operators(parsed(sums));
  ASSERT_TRUE(numbers.has_value()) << numbers.error().message;
  const std::string text = print_graph(*numbers);
  EXPECT_NE(text.find("ConstantOfShape{data_type=f32, shape=[], value=3.0}"), std::string::npos)
      << text;
  EXPECT_NE(text.find("ConstantOfShape{data_type=f32, shape=[1], value=0.10000000149011612}"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("value=3.0"), text.rfind("value=3.0")) << text;
  EXPECT_NE(text.find("constant f32[2] [1, 2]"), std::string::npos) << text;
}

TEST(Numbers, FoldingGivesTheSameConstants) {
  const Graph graph = parsed(sums);
  const auto numbers = with_numbers_as_operators(graph);
  ASSERT_TRUE(numbers.has_value());
  const auto folded = fold_constants(*numbers, {});
  ASSERT_TRUE(folded.has_value());
  const auto constants = [](const Graph& of) {
    std::multiset<std::uint64_t> result;
    for (const NodeId id : of.live_nodes())
      if (of.node(id).kind == NodeKind::constant) result.insert(of.constant(of.node(id)).digest());
    return result;
  };
  EXPECT_EQ(constants(*folded), constants(graph));
}

TEST(Numbers, WhatAnOperatorCannotHoldStaysAConstant) {
  for (const std::string_view value :
       {"f32[] [nan]", "f32[] [inf]", "f32[] [-0]", "i64[] [3]", "bool[] [1]"}) {
    SCOPED_TRACE(value);
    const auto graph = parse_graph("graph \"g\"\n  %0 = constant " + std::string(value) +
                                   "\n  %1 = Identity(%0)\n  output \"y\" = %1\n");
    ASSERT_TRUE(graph.has_value()) << graph.error().message;
    const auto numbers = with_numbers_as_operators(*graph);
    ASSERT_TRUE(numbers.has_value()) << numbers.error().message;
    EXPECT_EQ(print_graph(*numbers).find("ConstantOfShape"), std::string::npos);
  }
}

}  // namespace
}  // namespace lemma
