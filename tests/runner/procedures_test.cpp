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

TEST(Procedures, AWrongKindOfOperandIsAnError) {
  EXPECT_THAT(run_one("string[N] x", "int64 y", "y = SequenceLength(x)", {Strings{{1}, {"a"}}}),
              HasSubstr("input 0 is string[1], not a sequence"));
}

}  // namespace
}  // namespace lemma::runner
