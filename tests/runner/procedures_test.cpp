// Operators that have procedures, beyond the backend tests of ONNX.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runner/run_text.h"

namespace lemma::runner {
namespace {

using ::testing::HasSubstr;

std::string run_one(const std::string& inputs, const std::string& outputs, const std::string& node,
                    const std::vector<RunTimeValue>& values) {
  return shown(run_text("<ir_version: 8, opset_import: [\"\" : 20, \"ai.onnx.ml\" : 4]> g (" +
                            inputs + ") => (" + outputs + ") { " + node + " }",
                        values));
}

TEST(Procedures, NonZeroOfSomeAndOfNone) {
  EXPECT_EQ(
      run_one("float[M, N] x", "int64[2, K] y", "y = NonZero(x)", {floats({2, 2}, {0, 1, 2, 0})}),
      "i64[2, 2] 0 1 1 0");
  EXPECT_EQ(run_one("float[N] x", "int64[1, K] y", "y = NonZero(x)", {floats({2}, {0, 0})}),
            "i64[1, 0]");
}

TEST(Procedures, SizesThatDependOnValuesAreUsed) {
  EXPECT_EQ(run_one("float[N] x", "float[K] z",
                    "i = NonZero(x)  t = Transpose <perm = [1, 0]> (i)  z = GatherND(x, t)",
                    {floats({4}, {0, 5, 0, 6})}),
            "f32[2] 5 6");
}

TEST(Procedures, CompressStaysWithinTheAxis) {
  const auto condition = [](const std::vector<std::uint8_t>& bits) {
    return Constant::of(DataType::boolean, {static_cast<std::int64_t>(bits.size())}, bits);
  };
  EXPECT_EQ(run_one("float[M, N] x, bool[K] c", "float[M, L] y", "y = Compress <axis = -1> (x, c)",
                    {floats({2, 3}, {1, 2, 3, 4, 5, 6}), condition({0, 1, 1})}),
            "f32[2, 2] 2 3 5 6");
  EXPECT_THAT(run_one("float[N] x, bool[K] c", "float[L] y", "y = Compress <axis = 0> (x, c)",
                      {floats({1}, {1}), condition({0, 1})}),
              HasSubstr("longer than the axis"));
}

TEST(Procedures, UniqueInOrderOfSizeOrOfPlace) {
  const std::vector<RunTimeValue> x = {floats({5}, {3, 1, 3, 2, 1})};
  EXPECT_EQ(run_one("float[N] x", "float[K] y, int64[K] i, int64[N] v, int64[K] c",
                    "y, i, v, c = Unique(x)", x),
            "f32[3] 1 2 3, i64[3] 1 3 0, i64[5] 2 0 2 1 0, i64[3] 2 1 2");
  EXPECT_EQ(
      run_one("float[N] x", "float[K] y, int64[K] c", "y, i, v, c = Unique <sorted = 0> (x)", x),
      "f32[3] 3 1 2, i64[3] 2 2 1");
}

TEST(Procedures, PositionsInSequences) {
  const std::string made = "s = SequenceConstruct(x, y)  ";
  const std::vector<RunTimeValue> values = {floats({1}, {1}), floats({2}, {2, 3}),
                                            integers({}, {-1})};
  const std::string inputs = "float[M] x, float[N] y, int64 p";
  EXPECT_EQ(run_one(inputs, "float[K] z", made + "z = SequenceAt(s, p)", values), "f32[2] 2 3");
  EXPECT_EQ(run_one(inputs, "float[K] z",
                    made + "t = SequenceInsert(s, y, p)  q = SequenceErase(t)  "
                           "z = ConcatFromSequence <axis = 0> (q)",
                    values),
            "f32[3] 1 2 3");
  EXPECT_THAT(run_one(inputs, "float[K] z", made + "e = Add(p, p)  z = SequenceAt(s, e)",
                      {values[0], values[1], integers({}, {-2})}),
              HasSubstr("position -4 in a sequence of 2"));
}

TEST(Procedures, PartsOfStrings) {
  const std::vector<RunTimeValue> x = {Strings{{2}, {" a  b c ", ""}}};
  EXPECT_EQ(run_one("string[N] x", "string[N, K] y, int64[N] n", "y, n = StringSplit(x)", x),
            "string[2, 3] 'a' 'b' 'c' '' '' '', i64[2] 3 0");
  EXPECT_EQ(run_one("string[N] x", "string[N, K] y, int64[N] n",
                    "y, n = StringSplit <delimiter = \"b\", maxsplit = 1> (x)", x),
            "string[2, 2] ' a  ' ' c ' '' '', i64[2] 2 1");
}

TEST(Procedures, LabelsHaveAValueEach) {
  const auto encoded = [](const std::string& keys, const std::string& values) {
    return run_one("int64[N] x", "int64[N] y",
                   "y = ai.onnx.ml.LabelEncoder <keys_int64s = [" + keys + "], values_int64s = [" +
                       values + "], default_int64 = 9> (x)",
                   {integers({3}, {1, 2, 5})});
  };
  EXPECT_EQ(encoded("1, 2", "10, 20"), "i64[3] 10 20 9");
  EXPECT_THAT(encoded("1, 2", "10, 20, 30"), HasSubstr("2 keys and 3 values"));
  EXPECT_THAT(encoded("1, 2, 5", "10, 20"), HasSubstr("3 keys and 2 values"));
}

TEST(Procedures, RegionsAsMeansAndMaxima) {
  std::vector<float> pixels;
  for (int i = 1; i <= 16; ++i) pixels.push_back(static_cast<float>(i));
  const auto aligned = [&](const std::string& attributes, std::int64_t image = 0) {
    return run_one(
        "float[N, C, H, W] x, float[K, 4] r, int64[K] b", "float[K, C, 1, 2] y",
        "y = RoiAlign <output_height = 1, output_width = 2, " + attributes + "> (x, r, b)",
        {floats({1, 1, 4, 4}, pixels), floats({1, 4}, {0, 0, 3, 2}), integers({1}, {image})});
  };
  // The expected values are those of ONNX's reference evaluator.
  EXPECT_EQ(aligned("sampling_ratio = 0"), "f32[1, 1, 1, 2] 3.3125 4.75");
  EXPECT_EQ(aligned("sampling_ratio = 1"), "f32[1, 1, 1, 2] 3.25 4.75");
  EXPECT_EQ(aligned("coordinate_transformation_mode = \"output_half_pixel\""),
            "f32[1, 1, 1, 2] 5.75 7.25");
  EXPECT_EQ(aligned("sampling_ratio = 1, mode = \"max\""), "f32[1, 1, 1, 2] 1.875 2.625");
  EXPECT_THAT(aligned("mode = \"min\""), HasSubstr("mode is 'min'"));
  EXPECT_THAT(aligned("sampling_ratio = 1", 1), HasSubstr("there is no image 1"));
}

TEST(Procedures, PooledElementsGoBackToTheirPositions) {
  const auto unpooled = [](const std::vector<std::int64_t>& positions,
                           const std::vector<std::int64_t>& sizes) {
    return run_one(
        "float[1, 1, N] x, int64[1, 1, N] i, int64[3] s", "float[1, 1, M] y",
        "y = MaxUnpool <kernel_shape = [2], strides = [2]> (x, i, s)",
        {floats({1, 1, 2}, {7, 8}), integers({1, 1, 2}, positions), integers({3}, sizes)});
  };
  EXPECT_EQ(unpooled({1, 2}, {1, 1, 4}), "f32[1, 1, 4] 0 7 8 0");
  EXPECT_EQ(unpooled({3, 0}, {1, 1, 6}), "f32[1, 1, 6] 8 0 0 7 0 0");
  EXPECT_THAT(unpooled({1, 4}, {1, 1, 4}), HasSubstr("index 4 is outside of [1, 1, 4]"));
  EXPECT_THAT(unpooled({1, 2}, {1, 1, 3}), HasSubstr("does not fit into the sizes [1, 1, 3]"));
}

TEST(Procedures, TrianglesOnTheMelScale) {
  const auto weights = [](std::int64_t bins, float upper) {
    return run_one("int64 a, int64 b, int64 c, float d, float e", "float[M, N] y",
                   "y = MelWeightMatrix(a, b, c, d, e)",
                   {integers({}, {bins}), integers({}, {8}), integers({}, {16}), floats({}, {0}),
                    floats({}, {upper})});
  };
  EXPECT_EQ(weights(2, 8), "f32[5, 2] 0 0 1 0 0 1 0 0 0 0");
  EXPECT_THAT(weights(2, 80), HasSubstr("beyond the 5 frequencies"));
  EXPECT_THAT(weights(0, 8), HasSubstr("no 0 bins"));
}

TEST(Procedures, StringsThatMatchAsAWhole) {
  const auto matches = [](const std::string& pattern, std::vector<std::string> elements) {
    const auto count = static_cast<std::int64_t>(elements.size());
    return run_one("string[N] x", "bool[N] y",
                   "y = RegexFullMatch <pattern = \"" + pattern + "\"> (x)",
                   {Strings{{count}, std::move(elements)}});
  };
  EXPECT_EQ(matches("a[0-9]+b?", {"a12", "a12b", "xa12b", "a"}), "bool[4] 1 1 0 0");
  EXPECT_EQ(matches("a|b", {}), "bool[0]");
  EXPECT_THAT(matches("a(b", {"ab"}), HasSubstr("the regular expression 'a(b'"));
  EXPECT_THAT(matches("a(?=b)", {"ab"}), HasSubstr("'(?' in the regular expression"));
  EXPECT_THAT(matches("a*", {std::string(5000, 'a')}), HasSubstr("a string of 5000 bytes"));
}

TEST(Procedures, ElementsAboveAThreshold) {
  EXPECT_EQ(run_one("float[N] x", "float[N] y", "y = ai.onnx.ml.Binarizer <threshold = 1.0> (x)",
                    {floats({3}, {0.5, 1, 2})}),
            "f32[3] 0 0 1");
}

TEST(Procedures, AWrongKindOfOperandIsAnError) {
  EXPECT_THAT(run_one("string[N] x", "int64 y", "y = SequenceLength(x)", {Strings{{1}, {"a"}}}),
              HasSubstr("input 0 is string[1], not a sequence"));
}

}  // namespace
}  // namespace lemma::runner
