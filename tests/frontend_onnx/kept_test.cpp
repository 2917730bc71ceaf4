// What a changed model keeps of its file: documentation, metadata, names, declarations and training information of
// what was not touched; and outputs that an operator has though nobody uses them.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "tests/frontend_onnx/models.h"

namespace lemma::frontend {
namespace {

using ::testing::ElementsAre;

constexpr const char* product = R"(<ir_version: 8, opset_import: ["" : 13]>
  g (float[N, 2] x) => (float[M, 2] y) <float[2, 2] w = {1, 2, 3, 4}> {
    t = MatMul(x, w)
    y = Relu(t)
  })";

/// A field that is newer than these messages: number 9 or 16, with a key and a value.
std::string metadata(char number, const std::string& value) {
  const std::string entry =
      "\x0a\x01k\x12" + std::string(1, static_cast<char>(value.size())) + value;
  const auto tag = static_cast<unsigned>(number) << 3U | 2U;
  std::string field;
  if (tag > 0x7f) field = {static_cast<char>((tag & 0x7fU) | 0x80U), static_cast<char>(tag >> 7U)};
  if (tag <= 0x7f) field = {static_cast<char>(tag)};
  return field + static_cast<char>(entry.size()) + entry;
}

::onnx::ModelProto with_remarks() {
  ::onnx::ModelProto model = parse_text(product);
  auto& node = *model.mutable_graph()->mutable_node(0);
  node.set_name("first");
  node.set_doc_string("multiplies");
  node.MergeFromString(metadata(9, "of a node"));
  auto& tensor = *model.mutable_graph()->mutable_initializer(0);
  tensor.set_doc_string("weights");
  tensor.MergeFromString(metadata(16, "of a tensor"));
  return model;
}

TEST(Kept, DocumentationAndMetadataOfNodesAndInitializers) {
  const auto model = import_message(with_remarks());
  ASSERT_TRUE(model) << error_of(model);
  const auto out = exported(*model);
  EXPECT_EQ(out.graph().node(0).name(), "first");
  EXPECT_EQ(out.graph().node(0).doc_string(), "multiplies");
  EXPECT_NE(out.graph().node(0).SerializeAsString().find("of a node"), std::string::npos);
  EXPECT_EQ(out.graph().node(1).doc_string(), "");
  EXPECT_EQ(out.graph().initializer(0).doc_string(), "weights");
  EXPECT_NE(out.graph().initializer(0).SerializeAsString().find("of a tensor"), std::string::npos);
}

TEST(Kept, OutputsAsTheyAreDeclared) {
  const auto out = round_trip(product);
  EXPECT_EQ(out.graph().output(0).type().tensor_type().shape().dim(0).dim_param(), "M");
  EXPECT_EQ(out.graph().input(0).type().tensor_type().shape().dim(0).dim_param(), "N");
}

TEST(Kept, OutputsFollowAnOverride) {
  ImportOptions options;
  options.shapes["x"] = {3, 2};
  const auto out = round_trip(product, options);
  EXPECT_EQ(out.graph().output(0).type().tensor_type().shape().dim(0).dim_value(), 3);
}

TEST(Kept, TrainingInformationWhereTheWeightsAreTheSame) {
  ::onnx::ModelProto message = parse_text(product);
  auto& training = *message.add_training_info();
  training.mutable_algorithm()->set_name("step");
  auto& node = *training.mutable_algorithm()->add_node();
  node.set_op_type("Neg");
  node.add_input("w");
  node.add_output("w_new");
  auto& binding = *training.add_update_binding();
  binding.set_key("w");
  binding.set_value("w_new");
  const auto model = import_message(message);
  ASSERT_TRUE(model) << error_of(model);
  ASSERT_EQ(exported(*model).training_info_size(), 1);
  EXPECT_EQ(exported(*model).training_info(0).SerializeAsString(), training.SerializeAsString());

  // A graph that computes with other weights.
  Graph changed;
  const ValueId x = *changed.add_input("x", model->graph.type(ValueId{0}));
  const ValueId other =
      changed.add_constant(Constant::of(DataType::f32, {2, 2}, std::vector<float>{5, 6, 7, 8}));
  ASSERT_TRUE(changed.add_output("y", *changed.add("MatMul", {x, other})));
  EXPECT_EQ(exported({std::move(changed), model->envelope}).training_info_size(), 0);
}

TEST(Kept, ParametersOfOldFilesAreTheirInitializers) {
  const auto out = round_trip(R"(<ir_version: 3, opset_import: ["" : 8]>
    g (float[2, 3] x, int64[1] sizes) => (float[6] y) <int64[1] sizes = {6}> {
      y = Reshape(x, sizes)
    })");
  EXPECT_THAT(lines_of(out), ElementsAre("y = Reshape(x, sizes)"));
  ASSERT_EQ(out.graph().initializer_size(), 1);
  EXPECT_EQ(out.graph().initializer(0).name(), "sizes");
  EXPECT_EQ(out.graph().input_size(), 2);
}

TEST(Outputs, ThatNobodyUsesAreMadeWhereTheOperatorHasThem) {
  const auto top = round_trip(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2, 6] x) => (float[2, 3] y) <int64[1] k = {3}> {
      values, indices = TopK(x, k)
      y = Relu(values)
    })");
  EXPECT_THAT(lines_of(top), ElementsAre("values, indices = TopK(x, k)", "y = Relu(values)"));
  for (const char* wanted : {"q", "s", "z"}) {
    const auto quantized = round_trip(fmt::format(R"(<ir_version: 8, opset_import: ["" : 13]>
      g (float[2, 6] x) => ({} {}) {{ q, s, z = DynamicQuantizeLinear(x) }})",
                                                  *wanted == 's'   ? "float"
                                                  : *wanted == 'z' ? "uint8"
                                                                   : "uint8[2, 6]",
                                                  wanted));
    EXPECT_EQ(quantized.graph().node(0).output_size(), 3) << wanted;
    EXPECT_EQ(quantized.graph().output(0).name(), wanted);
  }
}

}  // namespace
}  // namespace lemma::frontend
