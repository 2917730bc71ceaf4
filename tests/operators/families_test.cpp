// Shape rules, definitions and ONNX forms of the families arithmetic to normalization. That they
// compute the right numbers is tested against the ONNX backend tests (scripts/conformance).

#include <gtest/gtest.h>

#include "ir/graph.h"
#include "ir/graph_text.h"

namespace lemma {
namespace {

/// The type of `op` applied to values of the given types, or the message of the error.
std::string type_of(std::string_view op, const std::vector<std::string>& inputs,
                    Attributes attributes = {}) {
  Graph graph;
  std::vector<ValueId> values;
  for (const std::string& input : inputs)
    values.push_back(
        *graph.add_input("x" + std::to_string(values.size()), *parse_tensor_type(input)));
  const auto result = graph.add(op, values, std::move(attributes));
  return result ? text(graph.type(*result)) : result.error().message;
}

/// The definition of `op` as text.
std::string definition_of(std::string_view op, const std::vector<std::string>& inputs,
                          Attributes attributes = {}, std::size_t output_count = 1) {
  std::vector<TensorType> types;
  for (const std::string& input : inputs) types.push_back(*parse_tensor_type(input));
  const OperatorRecord& known = record(operator_named(op));
  attributes = *complete_attributes(known, types, std::move(attributes), output_count);
  return text(known.define({types, attributes, output_count}));
}

bool mentions(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Broadcasting, AlignsAtTheEndAndStretchesOnes) {
  EXPECT_EQ(type_of("Add", {"f32[4, 1]", "f32[3]"}), "f32[4, 3]");
  EXPECT_EQ(type_of("Add", {"f32[N, 1]", "f32[M]"}), "f32[N, M]");
  EXPECT_EQ(type_of("Max", {"f32[2]", "f32[3, 1]", "f32[]"}), "f32[3, 2]");
  EXPECT_EQ(type_of("Where", {"bool[3]", "i64[2, 1]", "i64[]"}), "i64[2, 3]");
  EXPECT_TRUE(mentions(type_of("Add", {"f32[4]", "f32[3]"}), "cannot be broadcast"));
  EXPECT_TRUE(mentions(type_of("Add", {"f32[N]", "f32[M]"}), "is not known"));
  EXPECT_TRUE(mentions(type_of("PRelu", {"f32[3]", "f32[2, 3]"}), "cannot be broadcast"));
}

TEST(ElementTypes, AreCheckedAndChosen) {
  EXPECT_TRUE(mentions(type_of("Add", {"f32[4]", "f64[4]"}), "input 1 is f64, but input 0 is f32"));
  EXPECT_TRUE(mentions(type_of("Exp", {"i32[4]"}), "not a real type"));
  EXPECT_EQ(type_of("Pow", {"i32[4]", "f32[4]"}), "i32[4]");
  EXPECT_EQ(type_of("Less", {"f16[4]", "f16[]"}), "bool[4]");
  EXPECT_EQ(type_of("Cast", {"f32[N]"}, {{"to", DataType::i8}}), "i8[N]");
  EXPECT_EQ(type_of("CastLike", {"f32[N]", "bool[]"}), "bool[N]");
  EXPECT_EQ(type_of("ArgMax", {"f32[N, 4]"}, {{"axis", -1}, {"keepdims", 0}}), "i64[N]");
}

TEST(Reduction, FillsInAxes) {
  EXPECT_EQ(type_of("ReduceSum", {"f32[2, N]"}, {{"keepdims", 0}}), "f32[]");
  EXPECT_EQ(type_of("ReduceMax", {"f32[2, N]"}, {{"axes", Integers{-1}}}), "f32[2, 1]");
  EXPECT_EQ(type_of("ReduceMean", {"f32[2, N]"}, {{"axes", Integers{}}}), "f32[2, N]");
  EXPECT_TRUE(mentions(type_of("ReduceSum", {"f32[2]"}, {{"axes", Integers{0, -1}}}), "twice"));
}

TEST(Contraction, MultipliesMatricesVectorsAndStacks) {
  EXPECT_EQ(type_of("MatMul", {"f32[B, 2, K]", "f32[K, 5]"}), "f32[B, 2, 5]");
  EXPECT_EQ(type_of("MatMul", {"f32[K]", "f32[7, K, 5]"}), "f32[7, 5]");
  EXPECT_EQ(type_of("Gemm", {"f32[K, M]", "f32[N, K]", "f32[N]"}, {{"transA", 1}, {"transB", 1}}),
            "f32[M, N]");
  EXPECT_TRUE(mentions(type_of("MatMul", {"f32[2, 3]", "f32[4, 5]"}), "inner sizes are 3 and 4"));
}

TEST(Contraction, NamesAxesInEinsum) {
  EXPECT_EQ(type_of("Einsum", {"f32[2, 3, A]", "f32[A, 4]"}, {{"equation", "b...i, ij"}}),
            "f32[3, 2, 4]");
  EXPECT_EQ(definition_of("Einsum", {"f32[N, K]", "f32[K, 4]"}, {{"equation", "ij,jk->ki"}}),
            "y[i0, i1] = sum(k0 < K: a[i1, k0] * b[k0, i0])");
  EXPECT_TRUE(mentions(type_of("Einsum", {"f32[2]"}, {{"equation", "ij->i"}}), "does not fit"));
  EXPECT_TRUE(mentions(type_of("Einsum", {"f32[2]"}, {{"equation", "i->j"}}), "axis 'j'"));
}

TEST(Shapes, AreInferred) {
  const Dimension n = Dimension::symbol("N");
  EXPECT_EQ(type_of("Reshape", {"f32[N, 4, 6]"}, {{"shape", Shape{-1, 8}}}), "f32[3*N, 8]");
  EXPECT_EQ(type_of("Reshape", {"f32[N, 4]"}, {{"shape", Shape{4, n}}}), "f32[4, N]");
  EXPECT_TRUE(mentions(type_of("Reshape", {"f32[6]"}, {{"shape", Shape{4, -1}}}), "do not fit"));
  EXPECT_TRUE(
      mentions(type_of("Reshape", {"f32[6]"}, {{"shape", Shape{-1, -1}}}), "more than one"));
  EXPECT_TRUE(mentions(type_of("Reshape", {"f32[0]"}, {{"shape", Shape{0, -1}}}), "anything"));
  EXPECT_TRUE(mentions(type_of("Reshape", {"f32[N]"}, {{"shape", Shape{n + 1}}}), "as many"));
  EXPECT_EQ(type_of("Flatten", {"f32[N, 3, 4]"}, {{"axis", 3}}), "f32[12*N, 1]");
  EXPECT_EQ(type_of("Squeeze", {"f32[1, 3, 1]"}), "f32[3]");
  EXPECT_TRUE(mentions(type_of("Squeeze", {"f32[1, N]"}), "is not known"));
  EXPECT_TRUE(mentions(type_of("Squeeze", {"f32[2]"}, {{"axes", Integers{0}}}), "size 1"));
  EXPECT_EQ(type_of("Unsqueeze", {"f32[N]"}, {{"axes", Integers{-1, 0}}}), "f32[1, N, 1]");
  EXPECT_EQ(type_of("Expand", {"f32[N, 1]"}, {{"shape", Shape{2, 1, 3}}}), "f32[2, N, 3]");
  EXPECT_EQ(type_of("Shape", {"f32[N, 1, 2]"}, {{"start", -2}}), "i64[2]");
  EXPECT_EQ(type_of("Range", {}, {{"limit", n}}), "i64[N]");
  EXPECT_EQ(type_of("Range", {}, {{"start", Dimension(7)}, {"limit", Dimension(0)}, {"delta", -3}}),
            "i64[3]");
  EXPECT_TRUE(mentions(type_of("Range", {}, {{"limit", n}, {"delta", 0}}), "a step of 0"));
}

TEST(Shapes, AreDefinedByRunsOfAxes) {
  const Dimension n = Dimension::symbol("N");
  EXPECT_EQ(definition_of("Reshape", {"f32[N, 4, 5]"}, {{"shape", Shape{n, 20}}}),
            "y[i0, i1] = a[i0, floordiv(i1, 5), floormod(i1, 5)]");
  EXPECT_EQ(definition_of("Reshape", {"f32[2, 15]"}, {{"shape", Shape{2, 1, 3, 5}}}),
            "y[i0, i1, i2, i3] = a[i0, i2 * 5 + i3]");
  EXPECT_EQ(definition_of("Reshape", {"f32[2, 3]"}, {{"shape", Shape{3, 2}}}),
            "y[i0, i1] = a[floordiv(i0 * 2 + i1, 3), floormod(i0 * 2 + i1, 3)]");
  EXPECT_EQ(definition_of("Shape", {"f32[N, 3]"}), "y[i0] = select(i0 == 0, N, 3)");
}

TEST(Normalization, ChecksChannelsAndGroups) {
  const std::vector<std::string> vectors = {"f32[2, 6, N]", "f32[6]", "f32[6]"};
  EXPECT_EQ(type_of("InstanceNormalization", vectors), "f32[2, 6, N]");
  EXPECT_EQ(type_of("GroupNormalization", vectors, {{"num_groups", 3}}), "f32[2, 6, N]");
  EXPECT_TRUE(mentions(type_of("GroupNormalization", vectors, {{"num_groups", 4}}), "4 groups"));
  EXPECT_TRUE(mentions(type_of("InstanceNormalization", {"f32[2, 5]", "f32[5]", "f32[6]"}),
                       "channels are 6 and 5"));
  EXPECT_EQ(type_of("LayerNormalization", {"f16[N, 4]", "f16[4]"}), "f16[N, 4]");
}

/// The output types by the shape rule, and those of the composition.
std::pair<std::string, std::string> rule_and_composition(std::string_view op,
                                                         const std::vector<std::string>& inputs,
                                                         Attributes attributes,
                                                         std::size_t output_count) {
  Graph graph;
  std::vector<ValueId> values;
  for (const std::string& input : inputs)
    values.push_back(
        *graph.add_input("x" + std::to_string(values.size()), *parse_tensor_type(input)));
  const OperatorId id = operator_named(op);
  const Node node =
      graph.node(*graph.add_operation(id, values, std::move(attributes), output_count));
  const auto types = graph.input_types(node);
  const auto composed = record(id).compose(graph, {types, node.attributes, output_count}, values);
  if (!composed) return {"a composition", composed.error().message};
  std::pair<std::string, std::string> result;
  for (std::uint32_t i = 0; i < output_count; ++i) {
    result.first += text(graph.type(node.output(i))) + " ";
    result.second += text(graph.type((*composed)[i])) + " ";
  }
  return result;
}

TEST(Composition, HasTheTypesOfTheShapeRule) {
  struct Case {
    std::string_view op;
    std::vector<std::string> inputs;
    Attributes attributes = {};
    std::size_t output_count = 1;
  };
  const std::vector<std::string> batch = {"f32[N, C, 4]", "f32[C]", "f32[C]", "f32[C]", "f32[C]"};
  const std::vector<std::string> group = {"f16[N, 6, M]", "f16[6]", "f16[6]"};
  const std::vector<Case> cases = {
      {"ArgMax", {"i8[N, M]"}, {{"axis", 1}, {"keepdims", 0}}},
      {"Adagrad", {"f64[]", "i64[]", "f32[N]", "f32[N]", "f32[N]"}, {}, 2},
      {"Adam", {"f64[]", "i64[]", "f32[N]", "f32[N]", "f32[N]", "f32[N]"}, {}, 3},
      {"ArgMin", {"f32[N, M]"}, {{"select_last_index", 1}}},
      {"BatchNormalization", batch},
      {"BatchNormalizationTraining", batch, {}, 3},
      {"DynamicQuantizeLinear", {"f32[N, 3]"}, {}, 3},
      {"GroupNormalization", group, {{"num_groups", 3}}},
      {"GroupNormalizationByGroup", {"f32[N, 6, M]", "f32[3]", "f32[3]"}, {{"num_groups", 3}}},
      {"Hardmax", {"f32[2, N, 3]"}, {{"axis", 1}}},
      {"HardmaxFlattened", {"f32[2, N, 3]"}, {{"axis", 1}}},
      {"InstanceNormalization", {"f32[N, C, H, W]", "f32[C]", "f32[C]"}},
      {"LayerNormalization", {"f16[N, M, 4]", "f16[M, 4]", "f16[4]"}, {{"axis", 1}}, 3},
      {"LinearAttention",
       {"f16[N, 3, 8]", "f16[N, 3, 4]", "f16[N, 3, 10]", "f32[N, 2, 2, 5]", "f16[N, 3, 4]",
        "f16[N, 3, 1]"},
       {{"q_num_heads", 4}, {"kv_num_heads", 2}},
       2},
      {"LogSoftmax", {"f32[N, M]"}, {{"axis", 0}}},
      {"LogSoftmaxFlattened", {"f32[N, M, 2]"}},
      {"LpNormalization", {"f32[N, M]"}, {{"p", 1}}},
      {"MeanVarianceNormalization", {"f32[N, C, H, W]"}},
      {"QLinearMatMul",
       {"u8[N, K]", "f32[1]", "u8[1]", "i8[K, 4]", "f32[]", "i8[]", "f32[]", "u8[]"}},
      {"RMSNormalization", {"f16[N, M]", "f16[M]"}},
      {"ReduceLogSumExp", {"f32[N, M]"}, {{"axes", Integers{0}}, {"keepdims", 0}}},
      {"Softmax", {"f16[N, M]"}},
      {"SoftmaxFlattened", {"f32[N, M, 2]"}},
  };
  for (const Case& c : cases) {
    const auto [rule, composition] =
        rule_and_composition(c.op, c.inputs, c.attributes, c.output_count);
    EXPECT_EQ(rule, composition) << c.op;
  }
}

TEST(DefinitionText, ReadsAsMaths) {
  EXPECT_EQ(definition_of("Relu", {"f32[N]"}), "y[i0] = max(a[i0], 0)");
  EXPECT_EQ(definition_of("Sigmoid", {"f32[]"}), "y = 1 / (1 + exp(-a))");
  EXPECT_EQ(definition_of("ReduceMean", {"f32[N, 3]"}, {{"keepdims", 0}}),
            "y = sum(k0 < N, k1 < 3: a[k0, k1]) / f32(3*N)");
  EXPECT_EQ(definition_of("Gemm", {"f32[2, K]", "f32[K, 3]", "f32[3]"}, {{"alpha", 0.5}}),
            "y[i0, i1] = 0.5 * sum(k0 < K: a[i0, k0] * b[k0, i1]) + c[i1]");
  EXPECT_EQ(definition_of("Dropout", {"f32[4]"}, {}, 2), "y0[i0] = a[i0]\ny1[i0] = true");
  EXPECT_EQ(definition_of("Xor", {"bool[]", "bool[]"}), "y = not a == b");
  EXPECT_EQ(definition_of("Div", {"f32[2]", "f32[1]"}), "y[i0] = a[i0] / b[0]");
  EXPECT_EQ(definition_of("CumSum", {"f32[N]"}, {{"axis", 0}}),
            "y[i0] = sum(k0 < N: select(k0 <= i0, a[k0], 0))");
}

}  // namespace
}  // namespace lemma
