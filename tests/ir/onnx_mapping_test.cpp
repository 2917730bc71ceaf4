// Parameters that ONNX carries as attributes in some operator sets and as inputs in others.

#include "ir/onnx_mapping.h"

#include <gtest/gtest.h>

#include "ir/graph.h"

namespace lemma {
namespace {

const TensorType matrix{DataType::f32, Shape{Dimension::symbol("N"), 4}};
const TensorType vector_i64{DataType::i64, Shape{1}};

OnnxMatch only_candidate(std::string_view name, int opset) {
  const auto matches = onnx_candidates("", name, opset);
  EXPECT_EQ(matches.size(), 1U) << name;
  return matches.empty() ? OnnxMatch{} : matches.front();
}

Result<ImportedCall> import(const OnnxCall& call) {
  const OnnxMatch match = only_candidate(call.name, call.opset);
  return import_call(*match.record, *match.mapping, call);
}

TEST(OnnxMapping, candidates_by_domain_and_operator_set) {
  EXPECT_EQ(onnx_candidates("", "Relu", 13).size(), 1U);
  EXPECT_EQ(onnx_candidates("ai.onnx", "Relu", 13).size(), 1U);
  EXPECT_TRUE(onnx_candidates("com.example", "Relu", 13).empty());
  EXPECT_TRUE(onnx_candidates("", "relu", 13).empty());
  EXPECT_TRUE(onnx_candidates("", "Reshape", 4).empty());
}

TEST(OnnxMapping, a_parameter_as_attribute) {
  OnnxCall call{.name = "ReduceSum",
                .opset = 11,
                .inputs = {{.type = matrix}},
                .attributes = {},
                .tensors = {}};
  call.attributes.set("axes", Integers{1});
  const auto imported = import(call);
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->inputs, std::vector<int>{0});
  EXPECT_EQ(imported->attributes.integers("axes"), Integers{1});
}

TEST(OnnxMapping, a_parameter_as_input) {
  const Shape axes = {1};
  OnnxCall call{.name = "ReduceSum",
                .opset = 13,
                .inputs = {{.type = matrix}, {.type = vector_i64, .elements = &axes}},
                .attributes = {},
                .tensors = {}};
  const auto imported = import(call);
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->inputs, std::vector<int>{0});
  EXPECT_EQ(imported->attributes.integers("axes"), Integers{1});
}

TEST(OnnxMapping, parameters_that_are_not_known_are_unsupported) {
  OnnxCall call{.name = "ReduceSum",
                .opset = 13,
                .inputs = {{.type = matrix}, {.type = vector_i64}},
                .attributes = {},
                .tensors = {}};
  auto imported = import(call);
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(imported.error().message, "'axes' is not known before run time");
  const Shape symbolic = {Dimension::symbol("N")};
  call.inputs[1].elements = &symbolic;
  imported = import(call);
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.error().message, "'axes' is not a constant");
}

TEST(OnnxMapping, symbolic_shapes_are_parameters) {
  const Shape shape = {2, -1, Dimension::symbol("N")};
  OnnxCall call{
      .name = "Reshape",
      .opset = 13,
      .inputs = {{.type = matrix}, {.type = {DataType::i64, Shape{3}}, .elements = &shape}},
      .attributes = {},
      .tensors = {}};
  const auto imported = import(call);
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->attributes.dimensions("shape"), shape);
}

TEST(OnnxMapping, attributes_without_a_counterpart_are_unsupported) {
  OnnxCall call{
      .name = "Relu", .opset = 13, .inputs = {{.type = matrix}}, .attributes = {}, .tensors = {}};
  call.attributes.set("strange", INT64_C(1));
  const auto imported = import(call);
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(imported.error().message, "attribute 'strange' is not supported");
}

TEST(OnnxMapping, absent_operands_are_kept_apart) {
  OnnxCall call{.name = "Gemm",
                .opset = 13,
                .inputs = {{.type = matrix}, {.type = matrix}, {}},
                .attributes = {},
                .tensors = {}};
  call.attributes.set("transB", INT64_C(1));
  const auto imported = import(call);
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->inputs, (std::vector<int>{0, 1, -1}));
  EXPECT_EQ(imported->attributes.integer("transB"), 1);
}

Result<ExportedCall> exported(std::string_view op, const Attributes& given, int opset) {
  Graph graph;
  const ValueId x = *graph.add_input("x", matrix);
  const auto value = graph.add(op, {x}, given);
  EXPECT_TRUE(value) << value.error().message;
  const Node& node = graph.node(graph.producer(*value));
  const auto types = graph.input_types(node);
  return export_call(graph.op(node), {types, node.attributes, 1}, opset);
}

TEST(OnnxMapping, exported_as_the_operator_set_has_it) {
  const Attributes axes({{"axes", Integers{1}}});
  const auto old = exported("ReduceSum", axes, 11), recent = exported("ReduceSum", axes, 13);
  ASSERT_TRUE(old && recent);
  EXPECT_EQ(old->attributes.integers("axes"), Integers{1});
  EXPECT_EQ(old->inputs.size(), 1U);
  EXPECT_FALSE(recent->attributes.has("axes"));
  ASSERT_EQ(recent->inputs.size(), 2U);
  EXPECT_EQ(std::get<OnnxOperandInput>(recent->inputs[0]).operand, 0U);
  EXPECT_EQ(std::get<OnnxIntegersInput>(recent->inputs[1]).elements, Shape{1});
  EXPECT_FALSE(exported("Reshape", Attributes({{"shape", Shape{-1}}}), 4));
}

TEST(OnnxMapping, what_is_exported_is_imported_again) {
  const Attributes shape({{"shape", Shape{2, Dimension::symbol("N"), 2}}});
  const auto call = exported("Reshape", shape, 13);
  ASSERT_TRUE(call) << call.error().message;
  const Shape elements = std::get<OnnxIntegersInput>(call->inputs[1]).elements;
  EXPECT_EQ(elements, (Shape{2, -1, 2})) << "one symbolic size needs no computation";
  OnnxCall again{
      .name = call->name,
      .opset = 13,
      .inputs = {{.type = matrix}, {.type = {DataType::i64, Shape{3}}, .elements = &elements}},
      .attributes = call->attributes,
      .tensors = {}};
  const auto imported = import(again);
  ASSERT_TRUE(imported) << imported.error().message;
  Graph graph;
  const ValueId x = *graph.add_input("x", matrix);
  EXPECT_EQ(*graph.add("Reshape", {x}, imported->attributes), *graph.add("Reshape", {x}, shape));
}

}  // namespace
}  // namespace lemma
