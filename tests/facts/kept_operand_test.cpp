// Which operations give an operand as it is, and which only nearly do.

#include "facts/kept_operand.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/graph_text.h"

namespace lemma {
namespace {

enum class Answer { other, up_to_sign_of_zero, bitwise };

/// Of the last operation of a graph whose input is x.
Answer answer(const std::string& operand, const std::vector<std::string>& lines,
              const ValueFacts& known = facts_of_input(DataType::f32)) {
  std::string text = fmt::format("graph \"one\"\n  input %0 \"x\" : {}\n", operand);
  for (std::size_t i = 0; i < lines.size(); ++i)
    text += fmt::format("  %{} = {}\n", i + 1, lines[i]);
  const auto graph = parse_graph(text + fmt::format("  output \"y\" = %{}\n", lines.size()));
  EXPECT_TRUE(graph) << graph.error().message << "\n" << text;
  if (!graph) return Answer::other;
  const Node& node = graph->nodes().back();
  std::vector<ValueFacts> operands;
  std::uint32_t x = 0;
  for (const ValueId input : node.inputs) {
    const Constant* constant = graph->constant_of(input);
    if (input.v == 0) x = static_cast<std::uint32_t>(operands.size());
    operands.push_back(constant != nullptr ? facts_of_constant(*constant) : known);
  }
  const auto kept = kept_operand(*graph, node, 0, operands);
  if (!kept) return Answer::other;
  EXPECT_EQ(kept->operand, x) << text;
  return kept->bitwise ? Answer::bitwise : Answer::up_to_sign_of_zero;
}

TEST(KeptOperand, WhereTheOtherNumberChangesNothing) {
  const std::string x = "f32[2, 3]";
  EXPECT_EQ(answer(x, {"constant f32[3] [1, 1, 1]", "Mul(%0, %1) : f32[2, 3]"}), Answer::bitwise);
  EXPECT_EQ(answer(x, {"constant f32[] [1]", "Mul(%1, %0) : f32[2, 3]"}), Answer::bitwise);
  EXPECT_EQ(answer(x, {"constant f32[2, 1] [1, 1]", "Div(%0, %1) : f32[2, 3]"}), Answer::bitwise);
  EXPECT_EQ(answer(x, {"constant f32[1] [1]", "Pow(%0, %1) : f32[2, 3]"}), Answer::bitwise);
  EXPECT_EQ(answer(x, {"constant f32[1] [0]", "Add(%0, %1) : f32[2, 3]"}),
            Answer::up_to_sign_of_zero);
  EXPECT_EQ(answer(x, {"constant f32[3] [0, 0, 0]", "Sub(%0, %1) : f32[2, 3]"}),
            Answer::up_to_sign_of_zero);
  EXPECT_EQ(answer("i64[4]", {"constant i64[] [0]", "Add(%0, %1) : i64[4]"}), Answer::bitwise);
  EXPECT_EQ(answer("bool[4]", {"constant bool[] [1]", "And(%0, %1) : bool[4]"}), Answer::bitwise);
  EXPECT_EQ(answer("bool[4]", {"constant bool[1] [0]", "Or(%1, %0) : bool[4]"}), Answer::bitwise);
}

// A product with 0 is known to be 0 everywhere, if it is defined, and is an operand all the same.
TEST(KeptOperand, WhatIsKnownOfItTakesNothingAway) {
  ValueFacts zero = facts_of_input(DataType::f32);
  zero.defined = true;
  zero.lower = zero.upper = 0;
  ASSERT_TRUE(common_number(zero));
  const std::string x = "f32[2, 3]";
  EXPECT_EQ(answer(x, {"constant f32[] [1]", "Mul(%0, %1) : f32[2, 3]"}, zero), Answer::bitwise);
  EXPECT_EQ(answer(x, {"constant f32[] [2]", "Mul(%0, %1) : f32[2, 3]"}, zero), Answer::other);
}

TEST(KeptOperand, NotWhereItChangesSomething) {
  const std::string x = "f32[2, 3]";
  EXPECT_EQ(answer(x, {"constant f32[3] [1, 2, 1]", "Mul(%0, %1) : f32[2, 3]"}), Answer::other);
  EXPECT_EQ(answer(x, {"constant f32[] [0]", "Mul(%0, %1) : f32[2, 3]"}), Answer::other);
  EXPECT_EQ(answer(x, {"constant f32[] [1]", "Div(%1, %0) : f32[2, 3]"}), Answer::other);
  EXPECT_EQ(answer(x, {"constant f32[] [0]", "Sub(%1, %0) : f32[2, 3]"}), Answer::other);
  EXPECT_EQ(answer(x, {"constant f32[] [1]", "Pow(%1, %0) : f32[2, 3]"}), Answer::other);
  EXPECT_EQ(answer("bool[4]", {"constant bool[] [0]", "And(%0, %1) : bool[4]"}), Answer::other);
  EXPECT_EQ(answer("bool[4]", {"constant bool[] [1]", "Or(%0, %1) : bool[4]"}), Answer::other);
}

TEST(KeptOperand, NotWhereTheOtherOperandMakesItLarger) {
  const std::string ones = "constant f32[3] [1, 1, 1]";
  EXPECT_EQ(answer("f32[2, 1]", {ones, "Mul(%0, %1) : f32[2, 3]"}), Answer::other);
  EXPECT_EQ(answer("f32[]", {ones, "Mul(%0, %1) : f32[3]"}), Answer::other);
  EXPECT_EQ(answer("f32[3]", {"constant f32[1, 1] [1]", "Mul(%0, %1) : f32[1, 3]"}), Answer::other);
  // N may be 1 when it is run.
  EXPECT_EQ(answer("f32[N]", {ones, "Mul(%0, %1) : f32[3]"}), Answer::other);
  EXPECT_EQ(answer("f32[N]", {"constant f32[1] [1]", "Mul(%0, %1) : f32[N]"}), Answer::bitwise);
}

TEST(KeptOperand, WhereNothingIsMoved) {
  const std::string x = "f32[N, 3]";
  EXPECT_EQ(answer(x, {"Pad{pads=[0, 0, 0, 0]}(%0) : f32[N, 3]"}), Answer::bitwise);
  EXPECT_EQ(answer(x, {"Pad{pads=[1, 0, -1, 0]}(%0) : f32[N, 3]"}), Answer::other);
  EXPECT_EQ(answer(x, {"Expand{shape=[N, 3]}(%0) : f32[N, 3]"}), Answer::bitwise);
  EXPECT_EQ(answer("f32[3, 3]", {"Transpose{perm=[1, 0]}(%0) : f32[3, 3]"}), Answer::other);
  EXPECT_EQ(answer("f32[2, 3]", {"constant f32[0, 3] []", "Concat{axis=0}(%0, %1) : f32[2, 3]"}),
            Answer::bitwise);
  EXPECT_EQ(answer("f32[2, 1]", {"ReduceMax{axes=[1], keepdims=1}(%0) : f32[2, 1]"}),
            Answer::bitwise);
  EXPECT_EQ(answer("f32[2, 1]", {"ReduceL2{axes=[1], keepdims=1}(%0) : f32[2, 1]"}), Answer::other);
}

}  // namespace
}  // namespace lemma
