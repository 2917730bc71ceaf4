// Shape rules, normal forms and import of the operators over windows.

#include <gtest/gtest.h>

#include "ir/onnx_mapping.h"
#include "tests/operators/apply.h"

namespace lemma {
namespace {

TEST(Conv, CountsWindows) {
  const Application conv = apply("Conv", {"f32[N, 4, 9, W]", "f32[6, 2, 3, 3]", "f32[6]"},
                                 {{"strides", dimensions({"2", "1"})},
                                  {"pads", dimensions({"0", "1", "0", "1"})},
                                  {"group", Dimension(2)}});
  EXPECT_EQ(conv.types, "f32[N, 6, 4, W]");
  EXPECT_EQ(conv.attributes, "{dilations=[1, 1], group=2, pads=[0, 1, 0, 1], strides=[2, 1]}");
}

TEST(Conv, TakesSymbolicParameters) {
  EXPECT_EQ(apply("Conv", {"f32[N, G*C, W]", "f32[G*M, C, K]"},
                  {{"strides", dimensions({"S"})}, {"group", *parse_dimension("G")}})
                .types,
            "f32[N, G*M, floordiv(-K + W, S) + 1]");
}

TEST(Conv, RefusesChannelsThatDoNotFit) {
  EXPECT_EQ(apply("Conv", {"f32[1, 3, 5]", "f32[2, 4, 3]"}).types,
            "Conv: input [1, 3, 5] has 3 channels, but weight [2, 4, 3] with 1 groups needs 4");
  EXPECT_EQ(apply("Conv", {"f32[1, 4, 2]", "f32[2, 4, 3]"}).types,
            "Conv: a window of 3 positions is larger than the padded input of 2");
}

TEST(ConvTranspose, InvertsTheSizesOfConv) {
  EXPECT_EQ(apply("ConvTranspose", {"f32[1, 4, H]", "f32[4, 3, 3]"},
                  {{"strides", dimensions({"2"})},
                   {"pads", dimensions({"1", "1"})},
                   {"output_padding", dimensions({"1"})},
                   {"group", Dimension(2)}})
                .types,
            "f32[1, 6, 2*H]");
}

TEST(MaxPool, LastWindowStartsInside) {
  const Attributes attributes = {{"kernel_shape", dimensions({"1"})},
                                 {"strides", dimensions({"2"})},
                                 {"pads", dimensions({"0", "0"})},
                                 {"ceil_mode", std::int64_t{1}}};
  EXPECT_EQ(apply("MaxPool", {"f32[1, 1, 4]"}, attributes).types, "f32[1, 1, 2]");
  EXPECT_EQ(apply("MaxPool", {"f32[1, 1, 5]"}, attributes, 2).types, "f32[1, 1, 3], i64[1, 1, 3]");
}

/// Attributes that the importer gives to an ONNX node, or the error.
std::string imported(std::string_view name, std::vector<std::string_view> types,
                     Attributes attributes, int opset = 13) {
  const auto candidates = onnx_candidates("", name, opset);
  OnnxCall call{.name = name,
                .opset = opset,
                .inputs = {},
                .attributes = std::move(attributes),
                .tensors = {}};
  for (const std::string_view type : types)
    call.inputs.push_back({.type = *parse_tensor_type(type)});
  const auto result = import_call(*candidates.at(0).record, *candidates.at(0).mapping, call);
  return result ? text(result->attributes) : result.error().message;
}

TEST(AutomaticPadding, BecomesExplicit) {
  const Attributes same = {{"auto_pad", std::string("SAME_LOWER")}, {"strides", Integers{2}}};
  EXPECT_EQ(imported("Conv", {"f32[1, 1, 6]", "f32[1, 1, 3]"}, same), "{pads=[1, 0], strides=[2]}");
  EXPECT_EQ(
      imported("Conv", {"f32[1, 1, W]", "f32[1, 1, 4]"}, {{"auto_pad", std::string("SAME_UPPER")}}),
      "{pads=[1, 2]}");
  EXPECT_EQ(imported("Conv", {"f32[1, 1, W]", "f32[1, 1, 3]"}, same),
            "automatic padding of an axis of size W with stride 2 depends on run time");
}

TEST(ConvTranspose, MeetsTheOutputShapeAskedFor) {
  const Attributes wanted = {{"output_shape", Integers{10}}, {"strides", Integers{3}}};
  EXPECT_EQ(imported("ConvTranspose", {"f32[1, 1, 3]", "f32[1, 2, 3]"}, wanted),
            "{dilations=[1], output_padding=[1], pads=[0, 0], strides=[3]}");
}

}  // namespace
}  // namespace lemma
