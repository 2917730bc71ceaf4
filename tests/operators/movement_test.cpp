// Shape rules and normal forms of the operators that move elements.

#include <gtest/gtest.h>

#include "tests/operators/apply.h"

namespace lemma {
namespace {

TEST(Transpose, ReversesByDefault) {
  const Application reversed = apply("Transpose", {"f32[2, N, 4]"});
  EXPECT_EQ(reversed.types, "f32[4, N, 2]");
  EXPECT_EQ(reversed.attributes, "{perm=[2, 1, 0]}");
}

TEST(Transpose, RefusesWhatIsNoPermutation) {
  EXPECT_EQ(apply("Transpose", {"f32[2, 3]"}, {{"perm", Integers{0, 0}}}).types,
            "Transpose: perm [0, 0] is not a permutation of 2 axes");
}

TEST(Concat, AddsSizesOfTheAxis) {
  EXPECT_EQ(
      apply("Concat", {"f32[2, N]", "f32[2, M]", "f32[2, 3]"}, {{"axis", std::int64_t{-1}}}).types,
      "f32[2, M + N + 3]");
  EXPECT_EQ(apply("Concat", {"f32[2, N]", "f32[3, N]"}, {{"axis", std::int64_t{1}}}).types,
            "Concat: shapes [2, N] and [3, N] cannot be concatenated along axis 1");
}

TEST(Split, DividesEvenlyOrLeavesLessForTheLast) {
  EXPECT_EQ(apply("Split", {"f32[6]"}, {}, 3).types, "f32[2], f32[2], f32[2]");
  EXPECT_EQ(apply("Split", {"f32[7]"}, {}, 3).types, "f32[3], f32[3], f32[1]");
  EXPECT_EQ(apply("Split", {"f32[2*N]"}, {}, 2).types, "f32[N], f32[N]");
  EXPECT_EQ(apply("Split", {"f32[A + B]"}, {{"split", dimensions({"A", "B"})}}, 2).types,
            "f32[A], f32[B]");
  EXPECT_EQ(apply("Split", {"f32[6]"}, {{"split", dimensions({"4", "1"})}}, 2).types,
            "Split: split [4, 1] does not add up to 6");
}

Application slice(std::string_view type, const char* start, const char* end, std::int64_t step = 1,
                  std::int64_t axis = 0) {
  return apply("Slice", {type},
               {{"starts", dimensions({start})},
                {"ends", dimensions({end})},
                {"axes", Integers{axis}},
                {"steps", Integers{step}}});
}

TEST(Slice, ClampsKnownBounds) {
  const Application to_the_end = slice("f32[5]", "-3", "9223372036854775807");
  EXPECT_EQ(to_the_end.types, "f32[3]");
  EXPECT_EQ(to_the_end.attributes, "{axes=[0], ends=[5], starts=[2], steps=[1]}");
  EXPECT_EQ(slice("f32[5]", "-9", "2").attributes, "{axes=[0], ends=[2], starts=[0], steps=[1]}");
  EXPECT_EQ(slice("f32[5]", "4", "2").types, "f32[0]");
  EXPECT_EQ(slice("f32[4]", "-9223372036854775808", "-2").types, "f32[2]");
  EXPECT_EQ(slice("f32[5]", "0", "5", 2).types, "f32[3]");
}

TEST(Slice, WalksBackward) {
  const Application whole = slice("f32[5]", "-1", "-9223372036854775808", -1);
  EXPECT_EQ(whole.types, "f32[5]");
  EXPECT_EQ(whole.attributes, "{axes=[0], ends=[-6], starts=[4], steps=[-1]}");
  EXPECT_EQ(slice("f32[5]", "4", "0", -2).types, "f32[2]");
  EXPECT_EQ(slice("f32[0]", "-1", "-9223372036854775808", -1).types, "f32[0]");
  EXPECT_EQ(slice("f32[N]", "-1", "-9223372036854775808", -1).types, "f32[N]");
}

TEST(Slice, KeepsSymbols) {
  EXPECT_EQ(slice("f32[N]", "0", "9223372036854775807").types, "f32[N]");
  EXPECT_EQ(slice("f32[A + B]", "A", "A + B").types, "f32[B]");
  EXPECT_EQ(slice("f32[A + B]", "0", "A").attributes,
            "{axes=[0], ends=[A], starts=[0], steps=[1]}");
  EXPECT_EQ(slice("f32[N]", "0", "10").types, "f32[min(10, N)]");
  EXPECT_EQ(slice("f32[N]", "-9223372036854775808", "9223372036854775807").types, "f32[N]");
  EXPECT_EQ(slice("f32[N]", "-1*N", "9223372036854775807").types, "f32[N]");
}

TEST(Slice, SortsAxes) {
  EXPECT_EQ(apply("Slice", {"f32[4, 5, 6]"},
                  {{"starts", dimensions({"1", "2"})},
                   {"ends", dimensions({"3", "4"})},
                   {"axes", Integers{-1, 0}}})
                .attributes,
            "{axes=[0, 2], ends=[4, 3], starts=[2, 1], steps=[1, 1]}");
}

TEST(Pad, ExpandsAxes) {
  const Application padded =
      apply("Pad", {"f32[2, N]"}, {{"pads", dimensions({"1", "2"})}, {"axes", Integers{-1}}});
  EXPECT_EQ(padded.types, "f32[2, N + 3]");
  EXPECT_EQ(padded.attributes, "{mode=\"constant\", pads=[0, 1, 0, 2], value=0.0}");
  EXPECT_EQ(apply("Pad", {"f32[2]"}, {{"pads", dimensions({"0", "-3"})}}).types,
            "Pad: the output would have the shape [-1]");
}

TEST(Pad, CopiesTheEdgeOfWhatNegativePadsLeave) {
  const auto edge = [](const char* type, const char* before, const char* after) {
    return apply("Pad", {type},
                 {{"pads", dimensions({before, after})}, {"mode", std::string("edge")}})
        .types;
  };
  EXPECT_EQ(edge("f32[5]", "1", "-1"), "f32[5]");
  EXPECT_EQ(edge("f32[5]", "-3", "4"), "f32[6]");
  EXPECT_EQ(edge("f32[5]", "-5", "1"), "Pad: mode 'edge' has nothing to copy");
}

TEST(Blocks, MoveBetweenChannelsAndSpace) {
  EXPECT_EQ(apply("DepthToSpace", {"f32[1, 8, H, W]"}, {{"blocksize", Dimension(2)}}).types,
            "f32[1, 2, 2*H, 2*W]");
  EXPECT_EQ(apply("SpaceToDepth", {"f32[1, 2, 2*H, 4]"}, {{"blocksize", Dimension(2)}}).types,
            "f32[1, 8, H, 2]");
  EXPECT_EQ(apply("DepthToSpace", {"f32[1, 6, 1, 1]"}, {{"blocksize", Dimension(2)}}).types,
            "DepthToSpace: the number of channels 6 cannot be divided by 4");
}

}  // namespace
}  // namespace lemma
