// What goes in comes out: names, order, declarations, constants, and what Lemma has no record for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "ir/graph_text.h"
#include "tests/frontend_onnx/models.h"

namespace lemma::frontend {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* small_model = R"(
<ir_version: 8, opset_import: ["" : 13, "custom" : 3], producer_name: "maker",
 producer_version: "1.2", model_version: 7, doc_string: "a model">
small (float[N, 2] x) => (float[N, 3] y, float[N, 3] z) <float[2, 3] w = {1, 2, 3, 4, 5, 6}> {
  t = MatMul(x, w)
  y = custom.Mystery <strength: int = 3> (t)
  z = Relu(t)
})";

TEST(RoundTrip, KeepsNodesNamesAndOrder) {
  const auto model = round_trip(small_model);
  EXPECT_THAT(lines_of(model), ElementsAre("t = MatMul(x, w)", "y = Mystery(t)", "z = Relu(t)"));
  EXPECT_EQ(model.graph().name(), "small");
  EXPECT_EQ(model.graph().input(0).name(), "x");
  EXPECT_EQ(model.graph().input(0).type().tensor_type().shape().dim(0).dim_param(), "N");
  EXPECT_EQ(model.graph().initializer(0).name(), "w");
  EXPECT_EQ(model.graph().node(1).attribute(0).i(), 3);
}

TEST(RoundTrip, KeepsTheEnvelope) {
  const auto model = round_trip(small_model);
  EXPECT_EQ(model.ir_version(), 8);
  EXPECT_EQ(model.producer_name(), "maker");
  EXPECT_EQ(model.producer_version(), "1.2");
  EXPECT_EQ(model.model_version(), 7);
  EXPECT_EQ(model.doc_string(), "a model");
  ASSERT_EQ(model.opset_import_size(), 2);
  EXPECT_EQ(model.opset_import(0).version(), 13);
  EXPECT_EQ(model.opset_import(1).domain(), "custom");
  EXPECT_EQ(model.opset_import(1).version(), 3);
}

TEST(RoundTrip, KeepsMetadata) {
  auto message = parse_text(small_model);
  auto& entry = *message.add_metadata_props();
  entry.set_key("author");
  entry.set_value("someone");
  message.mutable_graph()->mutable_node(0)->set_name("product");
  const auto model = import_message(message);
  ASSERT_TRUE(model) << error_of(model);
  const auto out = exported(*model);
  ASSERT_EQ(out.metadata_props_size(), 1);
  EXPECT_EQ(out.metadata_props(0).value(), "someone");
  EXPECT_EQ(out.graph().node(0).name(), "product");
}

TEST(RoundTrip, SecondImportGivesTheSameGraph) {
  const auto first = import_text(small_model);
  ASSERT_TRUE(first) << error_of(first);
  EXPECT_THAT(kinds_of(first->graph), Contains("MatMul"));
  EXPECT_THAT(kinds_of(first->graph), Contains("opaque Mystery"));
  const auto bytes = serialize_model(*first);
  ASSERT_TRUE(bytes);
  const auto second = import_bytes(*bytes);
  ASSERT_TRUE(second) << error_of(second);
  EXPECT_EQ(kinds_of(second->graph), kinds_of(first->graph));
  EXPECT_EQ(*serialize_model(*second), *bytes);
}

TEST(RoundTrip, IsDeterministic) {
  EXPECT_EQ(*serialize_model(*import_text(small_model)),
            *serialize_model(*import_text(small_model)));
}

TEST(RoundTrip, SortsNodes) {
  const auto model = round_trip(R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
    g (float[2] x) => (float[2] y) { y = Relu(t)  t = Neg(x) })");
  EXPECT_THAT(lines_of(model), ElementsAre("t = Neg(x)", "y = Relu(t)"));
}

TEST(RoundTrip, OutputsThatAreOneValueAreCopied) {
  const auto model = round_trip(R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
    g (float[2] x) => (float[2] y, float[2] z, float[2] direct, float[1] c)
    <float[1] w = {1}> {
      y = Relu(x)
      z = Relu(x)
      direct = custom.Same(x)
      c = Identity(w)
    })");
  std::vector<std::string> outputs;
  for (const auto& output : model.graph().output()) outputs.push_back(output.name());
  EXPECT_THAT(outputs, ElementsAre("y", "z", "direct", "c"));
  EXPECT_THAT(lines_of(model), Contains("z = Identity(y)"));
}

TEST(RoundTrip, InputMayBeAnOutput) {
  const auto model = round_trip(R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
    g (float[2] x) => (float[2] x, float[2] y) { y = Identity(x) })");
  EXPECT_EQ(model.graph().output(0).name(), "x");
  EXPECT_EQ(model.graph().output(1).name(), "y");
  EXPECT_THAT(lines_of(model), ElementsAre("y = Identity(x)"));
}

TEST(RoundTrip, PartsOfASplitThatNothingUsesStay) {
  const char* text = R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2, 6] x) => (float[2, 2] y) <int64[3] sizes = {2, 3, 1}> {
      y, a, b = Split<axis = 1>(x, sizes)
    })";
  const auto model = import_text(text);
  ASSERT_TRUE(model) << error_of(model);
  EXPECT_THAT(kinds_of(model->graph), ElementsAre("input", "Split"));
  EXPECT_EQ(exported(*model).graph().node(0).output_size(), 3);
}

TEST(RoundTrip, EqualPartsOfASplitNeedNoSizes) {
  for (const auto& [operator_set, attributes] : {std::pair{13, 1}, {18, 2}}) {
    const auto model = round_trip(fmt::format(
        R"(<ir_version: 8, opset_import: ["" : {}]>
           g (float[2, 6] x) => (float[2, 3] y, float[2, 3] z) <int64[2] sizes = {{3, 3}}> {{
             y, z = Split<axis = 1>(x, sizes)
           }})",
        operator_set));
    EXPECT_THAT(lines_of(model), ElementsAre("y, z = Split(x)"));
    const auto& node = model.graph().node(0);
    ASSERT_EQ(node.attribute_size(), attributes) << operator_set;  // the axis, and how many parts
    EXPECT_EQ(node.attribute(attributes - 1).i(), attributes);
  }
}

// ---- Initializers -------------------------------------------------------------------------------

constexpr const char* listed_initializer = R"(
  g (float[2, 2] x, float[2, 2] w) => (float[2, 2] y) <float[2, 2] w = {1, 2, 3, 4}> {
    y = MatMul(x, w)
  })";

TEST(Initializers, AreConstantsInOldFilesThoughListedAsInputs) {
  const auto model = import_text(
      std::string(R"(<ir_version: 3, opset_import: ["" : 8, "custom" : 1]>)") + listed_initializer);
  ASSERT_TRUE(model) << error_of(model);
  EXPECT_EQ(model->graph.inputs().size(), 1U);
  const auto out = exported(*model);
  ASSERT_EQ(out.graph().input_size(), 2);
  EXPECT_EQ(out.graph().input(0).name(), "x");
  EXPECT_EQ(out.graph().input(1).name(), "w");
  EXPECT_EQ(out.graph().initializer_size(), 1);
}

TEST(Initializers, MayBeOverriddenInNewFilesIfListed) {
  const std::string text =
      std::string(R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>)") + listed_initializer;
  const auto model = import_text(text);
  ASSERT_TRUE(model) << error_of(model);
  EXPECT_THAT(kinds_of(model->graph), ElementsAre("input", "input", "MatMul"));
  const auto out = exported(*model);
  EXPECT_EQ(out.graph().input_size(), 2);
  ASSERT_EQ(out.graph().initializer_size(), 1);
  EXPECT_EQ(out.graph().initializer(0).name(), "w");

  ImportOptions options;
  options.fix_overridable_initializers = true;
  const auto fixed = import_text(text, options);
  ASSERT_TRUE(fixed) << error_of(fixed);
  EXPECT_THAT(kinds_of(fixed->graph), ElementsAre("input", "constant", "MatMul"));
}

TEST(Initializers, OldFilesGainNoInputs) {
  const auto model = round_trip(R"(<ir_version: 3, opset_import: ["" : 8, "custom" : 1]>
    g (float[2] x) => (float[2] y) {
      c = Constant <value: tensor = float[2] {1, 2}> ()
      y = custom.Add(x, c)
    })");
  EXPECT_EQ(model.graph().input_size(), 1);
  EXPECT_THAT(lines_of(model), ElementsAre("c = Constant()", "y = Add(x, c)"));
}

TEST(Initializers, OfTypesThatOnlyTravel) {
  auto message = parse_text(R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
    g (float[2] x) => (float[2] y) { y = custom.Lookup(x, words, thin) })");
  auto& words = *message.mutable_graph()->add_initializer();
  words.set_name("words");
  words.set_data_type(::onnx::TensorProto::STRING);
  words.add_dims(2);
  words.add_string_data("yes");
  words.add_string_data("no");
  auto& thin = *message.mutable_graph()->add_sparse_initializer();
  thin.add_dims(100);
  thin.mutable_values()->set_name("thin");
  thin.mutable_values()->set_data_type(::onnx::TensorProto::FLOAT);
  thin.mutable_values()->add_dims(1);
  thin.mutable_values()->add_float_data(5);
  thin.mutable_indices()->set_data_type(::onnx::TensorProto::INT64);
  thin.mutable_indices()->add_dims(1);
  thin.mutable_indices()->add_int64_data(42);
  const auto model = import_message(message);
  ASSERT_TRUE(model) << error_of(model);
  const auto out = exported(*model);
  EXPECT_THAT(lines_of(out),
              ElementsAre("words = Constant()", "thin = Constant()", "y = Lookup(x, words, thin)"));
  EXPECT_EQ(out.graph().node(0).attribute(0).t().string_data(1), "no");
  EXPECT_EQ(out.graph().node(1).attribute(0).sparse_tensor().indices().int64_data(0), 42);
}

/// The contents of an initializer after import.
Constant contents_of(const ::onnx::TensorProto& tensor) {
  auto message = parse_text(R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
    g (float[2] x) => (float[2] y) { y = custom.Use(x, w) })");
  *message.mutable_graph()->add_initializer() = tensor;
  message.mutable_graph()->mutable_initializer(0)->set_name("w");
  const auto model = import_message(message);
  EXPECT_TRUE(model) << error_of(model);
  for (const NodeId id : model->graph.live_nodes())
    if (model->graph.node(id).kind == NodeKind::constant)
      return model->graph.constant(model->graph.node(id));
  ADD_FAILURE() << "no constant";
  return Constant::scalar_f32(0);
}

::onnx::TensorProto tensor_of(DataType type, std::vector<std::int64_t> sizes) {
  ::onnx::TensorProto tensor;
  tensor.set_data_type(static_cast<int>(type));
  for (const std::int64_t size : sizes) tensor.add_dims(size);
  return tensor;
}

TEST(TypedFields, AreConverted) {
  auto f32 = tensor_of(DataType::f32, {2});
  f32.add_float_data(1.5F);
  f32.add_float_data(-2);
  EXPECT_THAT(contents_of(f32).reals(), ElementsAre(1.5, -2));
  auto f64 = tensor_of(DataType::f64, {1});
  f64.add_double_data(0.1);
  EXPECT_THAT(contents_of(f64).reals(), ElementsAre(0.1));
  auto f16 = tensor_of(DataType::f16, {2});
  f16.add_int32_data(0x3c00);
  f16.add_int32_data(0xc000);
  EXPECT_THAT(contents_of(f16).reals(), ElementsAre(1, -2));
  auto bf16 = tensor_of(DataType::bf16, {1});
  bf16.add_int32_data(0x3f80);
  EXPECT_THAT(contents_of(bf16).reals(), ElementsAre(1));
  auto i8 = tensor_of(DataType::i8, {2});
  i8.add_int32_data(-3);
  i8.add_int32_data(127);
  EXPECT_THAT(contents_of(i8).integers(), ElementsAre(-3, 127));
  auto u16 = tensor_of(DataType::u16, {1});
  u16.add_int32_data(65535);
  EXPECT_THAT(contents_of(u16).integers(), ElementsAre(65535));
  auto i32 = tensor_of(DataType::i32, {1});
  i32.add_int32_data(-70000);
  EXPECT_THAT(contents_of(i32).integers(), ElementsAre(-70000));
  auto i64 = tensor_of(DataType::i64, {1});
  i64.add_int64_data(INT64_MIN);
  EXPECT_THAT(contents_of(i64).integers(), ElementsAre(INT64_MIN));
  auto u32 = tensor_of(DataType::u32, {1});
  u32.add_uint64_data(4294967295U);
  EXPECT_THAT(contents_of(u32).integers(), ElementsAre(4294967295));
  auto boolean = tensor_of(DataType::boolean, {3});
  boolean.add_int32_data(0);
  boolean.add_int32_data(1);
  boolean.add_int32_data(1);
  EXPECT_THAT(contents_of(boolean).integers(), ElementsAre(0, 1, 1));
}

TEST(TypedFields, RawDataIsTakenAsItIs) {
  auto raw = tensor_of(DataType::i32, {2});
  raw.set_raw_data(std::string("\x01\0\0\0\xff\xff\xff\xff", 8));
  EXPECT_THAT(contents_of(raw).integers(), ElementsAre(1, -1));
  auto nibbles = tensor_of(DataType::u4, {3});
  nibbles.set_raw_data(std::string("\x21\x03", 2));
  EXPECT_EQ(contents_of(nibbles).bytes().size(), 2U);
  auto empty = tensor_of(DataType::f32, {0, 7});
  EXPECT_EQ(contents_of(empty).element_count(), 0U);
  auto boolean = tensor_of(DataType::boolean, {2});
  boolean.set_raw_data(std::string("\x05\0", 2));
  EXPECT_THAT(contents_of(boolean).integers(), ElementsAre(1, 0));
}

TEST(TypedFields, LargeOnesAreViewsOfTheFile) {
  auto message = parse_text(R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
    g (float[2] x) => (float[2] y) { y = custom.Use(x, packed, raw) })");
  auto& packed = *message.mutable_graph()->add_initializer();
  packed = tensor_of(DataType::f32, {1000});
  packed.set_name("packed");
  for (int i = 0; i < 1000; ++i) packed.add_float_data(static_cast<float>(i));
  auto& raw = *message.mutable_graph()->add_initializer();
  raw = tensor_of(DataType::u8, {5000});
  raw.set_name("raw");
  raw.set_raw_data(std::string(5000, 'r'));
  const auto bytes = std::make_shared<std::string>(message.SerializeAsString());
  const auto view = std::as_bytes(std::span(*bytes));
  const auto model = import_model(bytes, view, {});
  ASSERT_TRUE(model) << error_of(model);
  int found = 0;
  for (const Node& node : model->graph.nodes()) {
    if (node.kind != NodeKind::constant) continue;
    ++found;
    const auto contents = model->graph.constant(node).bytes();
    EXPECT_GE(contents.data(), view.data());
    EXPECT_LE(contents.data() + contents.size(), view.data() + view.size());
    if (contents.size() == 4000) {
      EXPECT_EQ(model->graph.constant(node).reals()[999], 999);
    }
  }
  EXPECT_EQ(found, 2);
  EXPECT_EQ(exported(*model).graph().initializer(1).raw_data(), std::string(5000, 'r'));
}

// ---- Operator sets and declarations -------------------------------------------------------------

TEST(OperatorSets, OutsideTheKnownRangeAreOpaque) {
  const std::string version = std::to_string(newest_operator_set + 1);
  const auto model = import_text("<ir_version: 8, opset_import: [\"\" : " + version +
                                 "]> g (float[2, 2] x) => (float[2, 2] y) { y = MatMul(x, x) }");
  ASSERT_TRUE(model) << error_of(model);
  EXPECT_THAT(kinds_of(model->graph), ElementsAre("input", "opaque MatMul"));
  EXPECT_EQ(std::to_string(exported(*model).opset_import(0).version()), version);
}

// Add had attributes for broadcasting, which may place the second operand at inner axes.
TEST(OperatorSets, OfTheFirstOnesOnlyWhatRecordsDescribeIsRead) {
  const auto model = import_text(R"(<ir_version: 3, opset_import: ["" : 6]>
    g (float[2, 2] x, float[2] b) => (float[2, 2] y) {
      p = MatMul(x, x) q = Add<broadcast = 1>(p, b) y = Add<broadcast = 1, axis = 0>(q, b) })");
  ASSERT_TRUE(model) << error_of(model);
  EXPECT_THAT(kinds_of(model->graph), ElementsAre("input", "input", "MatMul", "Add", "opaque Add"));
}

TEST(OperatorSets, AliasOfTheStandardDomain) {
  const auto model = import_text(R"(<ir_version: 8, opset_import: ["ai.onnx" : 13]>
    g (float[2, 2] x) => (float[2, 2] y) { y = ai.onnx.MatMul(x, x) })");
  ASSERT_TRUE(model) << error_of(model);
  EXPECT_THAT(kinds_of(model->graph), ElementsAre("input", "MatMul"));
  EXPECT_EQ(exported(*model).opset_import_size(), 1);
}

TEST(OpaqueNodes, HaveTheTypesThatTheFileDeclares) {
  auto message = parse_text(R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
    g (float[N, 2] x) => (float[N, 5] y) { t = custom.Make(x)  y = MatMul(x, t) })");
  auto& declared = *message.mutable_graph()->add_value_info();
  declared.set_name("t");
  declared.mutable_type()->mutable_tensor_type()->set_elem_type(1);
  for (const int size : {2, 5})
    declared.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(size);
  const auto model = import_message(message);
  ASSERT_TRUE(model) << error_of(model);
  EXPECT_THAT(kinds_of(model->graph), ElementsAre("input", "opaque Make", "MatMul"));
  ASSERT_EQ(exported(*model).graph().value_info_size(), 1);
  // Without the declaration the type is unknown, and the product cannot be understood either.
  message.mutable_graph()->clear_value_info();
  const auto undeclared = import_message(message);
  ASSERT_TRUE(undeclared) << error_of(undeclared);
  EXPECT_THAT(kinds_of(undeclared->graph), ElementsAre("input", "opaque Make", "opaque MatMul"));
}

TEST(OpaqueNodes, KeepOptionalInputsAndOutputs) {
  auto message = parse_text(R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
    g (float[2] x) => (float[2] y) { a, b, y = custom.Many(x, x, x) })");
  message.mutable_graph()->mutable_node(0)->set_input(1, "");
  message.mutable_graph()->mutable_node(0)->set_output(1, "");
  const auto model = import_message(message);
  ASSERT_TRUE(model) << error_of(model);
  EXPECT_THAT(lines_of(exported(*model)), ElementsAre("a, , y = Many(x, , x)"));
}

TEST(OpaqueNodes, QuantizationStays) {
  const auto model = round_trip(R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
    g (float[2] x) => (float[2] y) <float s = {0.5}, uint8 zero = {3}, uint8[2] q = {1, 2}> {
      weights = DequantizeLinear(q, s, zero)
      t = QuantizeLinear(x, s, zero)
      u = DequantizeLinear(t, s, zero)
      y = Add(u, weights)
    })");
  EXPECT_THAT(
      lines_of(model),
      ElementsAre("weights = DequantizeLinear(q, s, zero)", "t = QuantizeLinear(x, s, zero)",
                  "u = DequantizeLinear(t, s, zero)", "y = Add(u, weights)"));
}

TEST(Envelope, CanBeMadeForAGraphOfOurOwn) {
  Graph graph;
  const auto x = *graph.add_input("x", {DataType::f32, Shape{Dimension::symbol("N"), 4}});
  const auto w = graph.add_constant(Constant::of(DataType::f32, {4, 1}, std::vector<float>(4, 2)));
  ASSERT_TRUE(graph.add_output("y", *graph.add("MatMul", {x, w})));
  const OnnxModel model{std::move(graph), ModelEnvelope::for_operator_set(17)};
  const auto out = exported(model);
  EXPECT_THAT(lines_of(out), ElementsAre(HasSubstr("y = MatMul(x, ")));
  EXPECT_EQ(out.opset_import(0).version(), 17);
  EXPECT_EQ(out.graph().output(0).type().tensor_type().shape().dim(1).dim_value(), 1);
  const auto again = import_bytes(out.SerializeAsString());
  ASSERT_TRUE(again) << error_of(again);
  EXPECT_EQ(kinds_of(again->graph), kinds_of(model.graph));
}

}  // namespace
}  // namespace lemma::frontend
