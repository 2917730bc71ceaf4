// What ONNX has moved over its operator sets: the same application, written in each of them.

#include <gtest/gtest.h>

#include "ir/graph.h"
#include "ir/graph_text.h"

namespace lemma {
namespace {

struct Application {
  std::vector<TensorType> types;
  Attributes attributes;
  const OperatorRecord* known = nullptr;
};

Application application(std::string_view op, const std::vector<std::string>& inputs,
                        Attributes attributes = {}) {
  Application result;
  for (const std::string& input : inputs) result.types.push_back(*parse_tensor_type(input));
  result.known = &record(operator_named(op));
  result.attributes = *complete_attributes(*result.known, result.types, std::move(attributes), 1);
  return result;
}

std::string input_text(const OnnxInput& input) {
  if (const auto* operand = std::get_if<OnnxOperandInput>(&input))
    return "operand " + std::to_string(operand->operand);
  if (const auto* integers = std::get_if<OnnxIntegersInput>(&input))
    return text(integers->elements);
  if (const auto* constant = std::get_if<Constant>(&input))
    return text(AttributeValue(constant->reals())) + " " + text(constant->type());
  return "none";
}

/// "Name{attributes}(inputs)", or the message of the error.
std::string exported(const Application& a, int opset) {
  const auto call = export_call(*a.known, {a.types, a.attributes, 1}, opset);
  if (!call) return call.error().message;
  std::string result = call->name + text(call->attributes) + "(";
  for (std::size_t i = 0; i < call->inputs.size(); ++i)
    result += (i > 0 ? ", " : "") + input_text(call->inputs[i]);
  return result + ")";
}

/// The record that takes a call of operands of the given types, with the attributes it gives them.
std::string imported(std::string_view op, int opset, const std::vector<std::string>& inputs,
                     Attributes attributes, const std::vector<Constant>& constants = {}) {
  OnnxCall call;
  call.name = op;
  call.opset = opset;
  call.attributes = std::move(attributes);
  for (const std::string& input : inputs)
    call.inputs.push_back({*parse_tensor_type(input), nullptr, nullptr});
  std::vector<Shape> elements(constants.size());
  for (std::size_t i = 0; i < constants.size(); ++i) {
    for (const std::int64_t element : constants[i].integers()) elements[i].emplace_back(element);
    call.inputs.push_back({constants[i].type(), &constants[i], &elements[i]});
  }
  std::string reasons;
  for (const auto [known, mapping] : onnx_candidates("", op, opset)) {
    const auto result = import_call(*known, *mapping, call);
    if (result) return std::string(known->name) + text(result->attributes);
    reasons += result.error().message;
  }
  return reasons;
}

TEST(OnnxVersions, AxesBecomeAnInput) {
  const auto sum = application("ReduceSum", {"f32[2, N]"}, {{"axes", Integers{1}}});
  EXPECT_EQ(exported(sum, 12), "ReduceSum{axes=[1], keepdims=1}(operand 0)");
  EXPECT_EQ(exported(sum, 13), "ReduceSum{keepdims=1}(operand 0, [1])");
  const auto mean = application("ReduceMean", {"f32[2, N]"}, {{"axes", Integers{1}}});
  EXPECT_EQ(exported(mean, 17), "ReduceMean{axes=[1], keepdims=1}(operand 0)");
  EXPECT_EQ(exported(mean, 18), "ReduceMean{keepdims=1}(operand 0, [1])");
  const auto squeeze = application("Squeeze", {"f32[1, N]"}, {{"axes", Integers{0}}});
  EXPECT_EQ(exported(squeeze, 12), "Squeeze{axes=[0]}(operand 0)");
  EXPECT_EQ(exported(squeeze, 13), "Squeeze(operand 0, [0])");
}

TEST(OnnxVersions, EmptyAxesMeanAllOrNone) {
  const auto none = application("ReduceSum", {"f32[2, N]"}, {{"axes", Integers{}}});
  EXPECT_EQ(exported(none, 13), "ReduceSum{keepdims=1, noop_with_empty_axes=1}(operand 0)");
  EXPECT_EQ(exported(none, 12), "a reduction over no axis needs a newer operator set");
  const std::vector<Constant> empty = {Constant::of_integers({})};
  EXPECT_EQ(imported("ReduceSum", 13, {"f32[2]"}, {}, empty), "ReduceSum");
  EXPECT_EQ(imported("ReduceSum", 13, {"f32[2]"}, {{"noop_with_empty_axes", 1}}, empty),
            "ReduceSum{axes=[]}");
  EXPECT_EQ(imported("ReduceSum", 13, {"f32[2]"}, {{"noop_with_empty_axes", 1}}),
            "ReduceSum{axes=[]}");
}

TEST(OnnxVersions, SoftmaxWasFlattenedBefore13) {
  EXPECT_EQ(imported("Softmax", 12, {"f32[2, 3, 4]"}, {}), "SoftmaxFlattened");
  EXPECT_EQ(imported("Softmax", 12, {"f32[2, 3]"}, {}), "Softmax{axis=-1}");
  EXPECT_EQ(imported("Softmax", 12, {"f32[2, 3, 4]"}, {{"axis", 2}}), "Softmax{axis=-1}");
  EXPECT_EQ(imported("Softmax", 13, {"f32[2, 3, 4]"}, {{"axis", 1}}), "Softmax{axis=1}");
  const auto inner = application("Softmax", {"f32[2, 3, 4]"}, {{"axis", 1}});
  EXPECT_EQ(exported(inner, 12), "operator set 12 normalizes along the last axis only");
  EXPECT_EQ(exported(inner, 13), "Softmax{axis=1}(operand 0)");
}

TEST(OnnxVersions, ClipBoundsBecomeInputs) {
  const auto relu6 = application("Clip", {"f16[N]"}, {{"min", 0.0}, {"max", 6.0}});
  EXPECT_EQ(exported(relu6, 10), "Clip{max=6.0, min=0.0}(operand 0)");
  EXPECT_EQ(exported(relu6, 11), "Clip(operand 0, [0.0] f16[], [6.0] f16[])");
  const auto above = application("Clip", {"f32[N]"}, {{"max", 6.0}});
  EXPECT_EQ(exported(above, 10), "Clip{max=6.0}(operand 0)");
  EXPECT_EQ(exported(above, 11), "Clip(operand 0, none, [6.0] f32[])");
  EXPECT_EQ(imported("Clip", 11, {"i32[4]"}, {}, {Constant::of(DataType::i32, {}, std::vector{2})}),
            "Clip{min=2.0}");
  EXPECT_EQ(imported("Clip", 11, {"f32[4]", "f32[]"}, {}), "ClipTensor");
}

TEST(OnnxVersions, ReshapeLeavesOneSymbolicSizeOpen) {
  const Dimension n = Dimension::symbol("N"), m = Dimension::symbol("M");
  const auto one = application("Reshape", {"f32[N, 4]"}, {{"shape", Shape{2, n, 2}}});
  EXPECT_EQ(exported(one, 7), "Reshape(operand 0, [2, -1, 2])");
  const auto two = application("Reshape", {"f32[N, M]"}, {{"shape", Shape{m, n}}});
  EXPECT_EQ(exported(two, 13), "Reshape(operand 0, [M, N])");
  EXPECT_EQ(exported(two, 14), "Reshape{allowzero=1}(operand 0, [M, N])");
  const std::vector<Constant> copied = {Constant::of_integers({0, 8, -1})};
  EXPECT_EQ(imported("Reshape", 13, {"f32[N, 4]"}, {}, copied), "Reshape{shape=[N, 8, -1]}");
  EXPECT_EQ(imported("Reshape", 14, {"f32[N, 4]"}, {{"allowzero", 1}}, copied),
            "Reshape{shape=[0, 8, -1]}");
}

TEST(OnnxVersions, OperandsWereBroadcastByAttributeBefore7) {
  const auto sum = application("Add", {"f32[2, 3]", "f32[3]"});
  EXPECT_EQ(exported(sum, 6), "Add{broadcast=1}(operand 0, operand 1)");
  EXPECT_EQ(exported(sum, 7), "Add(operand 0, operand 1)");
  EXPECT_EQ(exported(application("Add", {"f32[3]", "f32[2, 3]"}), 6),
            "operator set 6 cannot broadcast [3] and [2, 3]");
  EXPECT_EQ(imported("Add", 6, {"f32[2, 3]", "f32[3]"}, {{"broadcast", 1}}), "Add");
  EXPECT_EQ(imported("Add", 6, {"f32[2, 3]", "f32[2]"}, {{"broadcast", 1}, {"axis", 0}}),
            "the second operand stands at inner axes");
}

TEST(OnnxVersions, TrainingIsToldApart) {
  const std::vector<std::string> operands(5, "f32[2, 2]");
  EXPECT_EQ(imported("BatchNormalization", 14, operands, {}), "BatchNormalization");
  EXPECT_EQ(imported("BatchNormalization", 14, operands, {{"training_mode", 1}}),
            "BatchNormalizationTraining");
  EXPECT_EQ(imported("BatchNormalization", 9, operands, {{"momentum", 0.9}}), "BatchNormalization");
  EXPECT_EQ(imported("Sum", 13, {"f32[2]", "f32[2]"}, {}), "Add");
  EXPECT_EQ(imported("Sum", 13, {"f32[2]", "f32[2]", "f32[2]"}, {}), "Sum");
}

TEST(OnnxVersions, RecurrencesAreLayersWhereSomethingIsMissing) {
  const std::vector<std::string> given = {"f32[5, 2, 3]", "f32[1, 16, 3]", "f32[1, 16, 4]",
                                          "f32[1, 32]",   "undefined",     "f32[1, 2, 4]",
                                          "f32[1, 2, 4]"};
  const auto read = [](std::vector<std::string> inputs, Attributes attributes) {
    attributes.set("hidden_size", std::int64_t{4});
    OnnxCall call{
        .name = "LSTM", .opset = 14, .inputs = {}, .attributes = attributes, .tensors = {}};
    for (const std::string& input : inputs)
      call.inputs.push_back(
          {input == "undefined" ? TensorType{} : *parse_tensor_type(input), nullptr, nullptr});
    std::string result;
    for (const auto [known, mapping] : onnx_candidates("", "LSTM", 14)) {
      const auto imported = import_call(*known, *mapping, call);
      if (imported) return std::string(known->name) + text(imported->attributes);
      if (result.empty()) result = imported.error().message;
    }
    return result;
  };
  EXPECT_EQ(read(given, {}), "LSTM");
  EXPECT_EQ(read(given, {{"direction", std::string("reverse")}}),
            "LSTMLayer{direction=\"reverse\", layout=0}");
  EXPECT_EQ(read(given, {{"direction", std::string("sideways")}}), "the direction 'sideways'");
  EXPECT_EQ(read(given, {{"layout", std::int64_t{2}}}), "layout is 2");
  EXPECT_EQ(read(given, {{"input_forget", std::int64_t{1}}}), "gates that are coupled");
  EXPECT_EQ(read(given, {{"clip", 1.0}}), "attribute 'clip' is not supported");
  std::vector<std::string> other = given;
  other[4] = "i32[2]";
  EXPECT_EQ(read(other, {}), "lengths of sequences");
  other = given;
  other[6] = "undefined";
  EXPECT_EQ(read(other, {}), "LSTMLayer{direction=\"forward\", layout=0}");
  other = given;
  other.push_back("f32[1, 12]");
  EXPECT_EQ(read(other, {}), "peepholes");
  other = given;
  other[0] = "f32[n, 2, 3]";
  EXPECT_EQ(read(other, {}), "a number of steps that is not known before run time");
}

TEST(OnnxVersions, RecurrentLayersHaveALayoutFromSet14On) {
  const OperatorRecord& known = record(operator_named("GRULayer"));
  std::vector<TensorType> types;
  for (const char* type : {"f32[2, 5, 3]", "f32[1, 12, 3]", "f32[1, 12, 4]"})
    types.push_back(*parse_tensor_type(type));
  const auto attributes = complete_attributes(known, types, {{"layout", std::int64_t{1}}}, 2);
  ASSERT_TRUE(attributes) << attributes.error().message;
  const auto text_at = [&](int opset) {
    const auto call = export_call(known, {types, *attributes, 2}, opset);
    return call ? call->name + text(call->attributes) : call.error().message;
  };
  EXPECT_EQ(text_at(13), "operator set 13 has no layout 1");
  EXPECT_EQ(text_at(14), "GRU{hidden_size=4, layout=1}");
}

}  // namespace
}  // namespace lemma
