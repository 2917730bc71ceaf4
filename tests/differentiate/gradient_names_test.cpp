// Names of gradients: which ones mean an operator. A file may hold any name, so that none takes long or much memory.

#include <gtest/gtest.h>

#include <string>

#include "ir/operator.h"

namespace lemma {
namespace {

std::string derived(std::string name, int times) {
  for (int i = 0; i < times; ++i) name += "Gradient0";
  return name;
}

TEST(GradientNames, MeanAnOperatorAndOneOfItsOperands) {
  ASSERT_TRUE(find_operator("ConvGradient1"));
  EXPECT_EQ(find_operator("ConvGradient1"), find_operator("ConvGradient1"));
  EXPECT_EQ(record(*find_operator("ConvGradient1")).name, "ConvGradient1");
  EXPECT_TRUE(find_operator("ConcatGradient63"));
  for (const char* name :
       {"Gradient0", "ConvGradient", "ConvGradient01", "ConvGradient-1", "ConvGradient9",
        "MissingGradient0", "ConvGradient1 ", "ConcatGradient64", "ConcatGradient4294967295",
        "ConcatGradient99999999999"})
    EXPECT_FALSE(find_operator(name)) << name;
}

TEST(GradientNames, OfManyDerivativesMeanNothing) {
  EXPECT_TRUE(find_operator(derived("Tanh", 2)));
  EXPECT_TRUE(find_operator(derived("Tanh", 3)));
  for (const int times : {4, 20, 100000})
    EXPECT_FALSE(find_operator(derived("Tanh", times))) << times;
}

}  // namespace
}  // namespace lemma
