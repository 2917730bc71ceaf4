// Which operators may be undefined, and what may be read from left to right only.

#include "ir/partial.h"

#include <gtest/gtest.h>

namespace lemma {
namespace {

TEST(Partial, OperatorsThatDivideByElementsOrHaveNoValueSomewhere) {
  for (const char* name : {"Div", "Mod", "Reciprocal", "Sqrt", "Log", "Pow", "Tan", "Asin", "Acos",
                           "Atanh", "BatchNormalization", "LayerNormalization", "ReduceL2"})
    EXPECT_TRUE(may_be_undefined(operator_named(name))) << name;
  for (const char* name :
       {"Add", "Mul", "Relu", "Exp", "Sigmoid", "Tanh", "Gelu", "Softplus", "Mean", "ReduceMean",
        "AveragePool", "Softmax", "MatMul", "Conv", "Transpose", "Split"})
    EXPECT_FALSE(may_be_undefined(operator_named(name))) << name;
}

bool from_left_only(const std::string& rule) {
  const auto parsed = parse_substitutions("axiom a\n  x : [n]\n  " + rule + "\n", "test");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return holds_from_left_only(parsed->front());
}

TEST(Partial, EqualitiesThatHoldFromLeftToRightOnly) {
  EXPECT_TRUE(from_left_only("Reciprocal(Reciprocal(x)) => x"));
  EXPECT_TRUE(from_left_only("Exp(Log(x)) => x"));
  EXPECT_FALSE(from_left_only("Exp(Log(x)) = x"));
  EXPECT_FALSE(from_left_only("Log(Exp(Relu(x))) = Relu(x)"));
  EXPECT_FALSE(from_left_only("Neg(Neg(x)) => x"));
  EXPECT_FALSE(from_left_only("Relu(Relu(x)) => Relu(x)"));
}

}  // namespace
}  // namespace lemma
