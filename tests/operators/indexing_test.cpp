// Shape rules of the operators that index, and of Resize.

#include <gtest/gtest.h>

#include "operators/fraction.h"
#include "tests/operators/apply.h"

namespace lemma {
namespace {

TEST(Gather, PutsIndicesInPlaceOfTheAxis) {
  EXPECT_EQ(apply("Gather", {"f32[V, 64]", "i64[N, S]"}).types, "f32[N, S, 64]");
  EXPECT_EQ(apply("Gather", {"f32[3, 4]", "i32[]"}, {{"axis", std::int64_t{-1}}}).types, "f32[3]");
  EXPECT_EQ(apply("Gather", {"f32[3]", "f32[2]"}).types,
            "Gather: input 1 is f32, not an integer type");
}

TEST(GatherND, FollowsIndexVectors) {
  EXPECT_EQ(
      apply("GatherND", {"f32[N, 3, 4]", "i64[N, 5, 1]"}, {{"batch_dims", std::int64_t{1}}}).types,
      "f32[N, 5, 4]");
  EXPECT_EQ(apply("GatherND", {"f32[3]", "i64[5, 2]"}).types,
            "GatherND: index vectors of length 2 for 1 axes");
}

TEST(Scatter, ChecksUpdates) {
  EXPECT_EQ(apply("ScatterND", {"f32[4, N]", "i64[2, 1]", "f32[2, N]"}).types, "f32[4, N]");
  EXPECT_EQ(apply("ScatterND", {"f32[4, N]", "i64[2, 1]", "f32[2]"}).types,
            "ScatterND: the updates have the shape [2], not [2, N]");
  EXPECT_EQ(
      apply("ScatterElements", {"f32[4]", "i64[2]", "f32[2]"}, {{"reduction", std::string("mean")}})
          .types,
      "ScatterElements: reduction 'mean' is not known");
}

TEST(TopK, HasTwoOutputs) {
  EXPECT_EQ(apply("TopK", {"f32[N, 10]"}, {{"k", Dimension(3)}}, 2).types, "f32[N, 3], i64[N, 3]");
  EXPECT_EQ(apply("TopK", {"f32[2]"}, {{"k", Dimension(3)}}, 2).types,
            "TopK: k is 3, but axis 0 of [2] has the size 2");
}

TEST(OneHot, AddsAnAxis) {
  EXPECT_EQ(apply("OneHot", {"i64[N]", "f32[2]"},
                  {{"depth", *parse_dimension("D")}, {"axis", std::int64_t{0}}})
                .types,
            "f32[D, N]");
}

TEST(Resize, ScalesSizes) {
  EXPECT_EQ(apply("Resize", {"f32[1, C, H, W]"}, {{"scales", Reals{1, 1, 2, 0.5}}}).types,
            "f32[1, C, 2*H, floordiv(W, 2)]");
  EXPECT_EQ(apply("Resize", {"f32[1, 1, 3, 5]"},
                  {{"sizes", dimensions({"7", "8"})},
                   {"axes", Integers{2, 3}},
                   {"keep_aspect_ratio_policy", std::string("not_larger")}})
                .types,
            "f32[1, 1, 5, 8]");
  EXPECT_EQ(apply("Resize", {"f32[W]"},
                  {{"sizes", dimensions({"3"})},
                   {"mode", std::string("linear")},
                   {"antialias", std::int64_t{1}}})
                .types,
            "Resize: antialiasing with a symbolic scale factor");
  EXPECT_EQ(apply("Resize", {"f32[4]"}).types, "Resize: either scales or sizes are needed");
}

TEST(Fraction, IsTheSimplestThatRounds) {
  auto text_of = [](double value) {
    const auto fraction = operators::simplest_fraction(value);
    return fraction
               ? std::to_string(fraction->numerator) + "/" + std::to_string(fraction->denominator)
               : std::string("none");
  };
  EXPECT_EQ(text_of(0.6F), "3/5");
  EXPECT_EQ(text_of(2.0F / 3.0F), "2/3");
  EXPECT_EQ(text_of(-1.75), "-7/4");
  EXPECT_EQ(text_of(0), "0/1");
  EXPECT_EQ(text_of(16777215.0), "16777215/1");
  EXPECT_EQ(text_of(1e30), "none");
  for (const float value : {0.123456789F, 3.14159265F, 1.0001F, 0.00123F}) {
    const auto fraction = operators::simplest_fraction(value);
    ASSERT_TRUE(fraction.has_value()) << value;
    EXPECT_EQ(static_cast<float>(static_cast<double>(fraction->numerator) /
                                 static_cast<double>(fraction->denominator)),
              value);
    for (std::int64_t smaller = 1; smaller < fraction->denominator; ++smaller)
      EXPECT_NE(static_cast<float>(std::round(value * static_cast<double>(smaller)) /
                                   static_cast<double>(smaller)),
                value)
          << smaller;
  }
}

}  // namespace
}  // namespace lemma
