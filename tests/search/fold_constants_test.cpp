#include "search/fold_constants.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "interpreter/run.h"
#include "ir/check.h"
#include "ir/graph_text.h"
#include "tests/ir/parsed_graph.h"

namespace lemma {
namespace {

using testing::parsed;

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

std::size_t constants_of(const Graph& graph) {
  std::size_t count = 0;
  for (const NodeId id : graph.live_nodes())
    count += graph.node(id).kind == NodeKind::constant ? 1 : 0;
  return count;
}

/// x + three fills of 1,200 bytes each.
Graph with_three_fills() {
  return parsed(R"(graph "g"
  input %0 "x" : f32[300]
  %1 = ConstantOfShape{shape=[300], value=1.0}()
  %2 = ConstantOfShape{shape=[300], value=2.0}()
  %3 = ConstantOfShape{shape=[300], value=3.0}()
  %4 = Mul(%0, %1)
  %5 = Mul(%4, %2)
  %6 = Mul(%5, %3)
  output "y" = %6
)");
}

TEST(FoldConstants, FillsAreAllowedSoManyBytesTogether) {
  for (const auto& [bytes, folded_fills] : {std::pair{1000, 0}, {1500, 1}, {2500, 2}, {4096, 3}}) {
    FoldOptions options;
    options.free_bytes = bytes;
    const auto folded = fold_constants(with_three_fills(), options);
    ASSERT_TRUE(folded.has_value()) << folded.error().message;
    EXPECT_EQ(constants_of(*folded), static_cast<std::size_t>(folded_fills)) << bytes;
  }
}

TEST(FoldConstants, WhatMakesAFileSmallerNeedsNoAllowance) {
  const Graph graph = parsed(R"(graph "g"
  input %0 "x" : f32[4]
  %1 = constant f32[4] [1, 2, 3, 4]
  %2 = constant f32[4] [10, 20, 30, 40]
  %3 = Add(%1, %2)
  %4 = Add(%0, %3)
  output "y" = %4
)");
  const auto folded = fold_constants(graph, fold_without_growth({}, 0));
  ASSERT_TRUE(folded.has_value()) << folded.error().message;
  EXPECT_EQ(print_graph(*folded), R"(graph "g"
  input %0 "x" : f32[4]
  %1 = constant f32[4] [11, 22, 33, 44]
  %2 = Add(%0, %1) : f32[4]
  output "y" = %2
)");
}

TEST(FoldConstants, AConstantThatSomethingElseReadsIsNotReplaced) {
  const Graph graph = parsed(R"(graph "g"
  input %0 "x" : f32[50, 4]
  %2 = constant f32[50, 4] [3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3]
  %3 = Add(%2, %2)
  %4 = Add(%0, %2)
  %5 = Add(%4, %3)
  output "y" = %5
)");
  const auto folded = fold_constants(graph, fold_without_growth({}, 0));
  ASSERT_TRUE(folded.has_value()) << folded.error().message;
  EXPECT_EQ(constants_of(*folded), 1U);
}

TEST(FoldConstants, WhatAFillIsComputedFromIsFolded) {
  const Graph graph = parsed(R"(graph "g"
  input %0 "x" : f32[100, 100]
  %1 = constant f32[] [2]
  %2 = Mul(%1, %1)
  %3 = Expand{shape=[100, 100]}(%2)
  %4 = Add(%0, %3)
  output "y" = %4
)");
  const auto folded = fold_constants(graph, {});
  ASSERT_TRUE(folded.has_value()) << folded.error().message;
  EXPECT_EQ(print_graph(*folded), R"(graph "g"
  input %0 "x" : f32[100, 100]
  %1 = constant f32[] [4]
  %2 = Expand{shape=[100, 100]}(%1) : f32[100, 100]
  %3 = Add(%0, %2) : f32[100, 100]
  output "y" = %3
)");
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

TEST(FoldConstants, OperandsThatAreConstantsBecomeAttributes) {
  const Graph graph = parsed(R"(graph "g"
  input %0 "x" : f32[2]
  %1 = constant f32[] [8]
  %2 = constant f32[] [2]
  %3 = Div(%2, %1)
  %4 = HardSigmoidTensor(%0, %3, %2)
  %5 = ClipTensor(%4, %2, %1)
  output "y" = %5
)");
  const auto folded = fold_constants(graph, {});
  ASSERT_TRUE(folded.has_value()) << folded.error().message;
  EXPECT_EQ(print_graph(*folded), R"(graph "g"
  input %0 "x" : f32[2]
  %1 = HardSigmoid{alpha=0.25, beta=2.0}(%0) : f32[2]
  %2 = Clip{max=8.0, min=2.0}(%1) : f32[2]
  output "y" = %2
)");
}

TEST(FoldConstants, NumbersThatNoFileHoldsAsAttributesStayOperands) {
  // In f64, 0.1 is not the value of any f32.
  const Graph graph = parsed(R"(graph "g"
  input %0 "x" : f64[2]
  input %1 "a" : f64[]
  %2 = constant f64[] [0.1]
  %3 = HardSigmoidTensor(%0, %2, %2)
  %4 = HardSigmoidTensor(%0, %2, %1)
  output "y" = %3
  output "z" = %4
)");
  const auto folded = fold_constants(graph, {});
  ASSERT_TRUE(folded.has_value()) << folded.error().message;
  EXPECT_EQ(print_graph(*folded).find("HardSigmoid{"), std::string::npos);
}

TEST(FoldConstants, ConstantFormsComputeTheSame) {
  for (const OperatorRecord& one : all_operators()) {
    if (one.constant_form.op.empty()) continue;
    SCOPED_TRACE(one.name);
    const Graph graph = parsed(fmt::format(R"(graph "g"
  input %0 "x" : f32[5]
  %1 = constant f32[] [-0.5]
  %2 = constant f32[] [0.75]
  %3 = {}(%0, %1, %2)
  output "y" = %3
)",
                                           one.name));
    const auto folded = fold_constants(graph, {});
    ASSERT_TRUE(folded.has_value()) << folded.error().message;
    ASSERT_EQ(print_graph(*folded).find(std::string(one.name) + "("), std::string::npos);
    const std::vector<double> values = {-3, -0.5, 0, 0.75, 2};
    const std::vector<interpreter::NamedTensor> inputs = {
        {"x", interpreter::Tensor::from_reals(DataType::f32, {5}, values)}};
    const auto before = interpreter::run(graph, inputs, {}),
               after = interpreter::run(*folded, inputs, {});
    ASSERT_TRUE(before && after);
    EXPECT_EQ(before->front().reals(), after->front().reals());
  }
}

}  // namespace
}  // namespace lemma
