// Definitions as calls that compute them: which operand is which, factors, and what is refused because a library would
// compute something else.

#include "backend_cuda/libraries/exact_call.h"

#include <gtest/gtest.h>

#include "ir/graph.h"

namespace lemma::backend {
namespace {

TensorType tensor_of(std::initializer_list<std::int64_t> sizes, DataType type = DataType::f32) {
  Shape shape;
  for (const std::int64_t size : sizes) shape.emplace_back(size);
  return {type, std::move(shape)};
}

Shape dimensions(std::initializer_list<std::int64_t> values) {
  Shape result;
  for (const std::int64_t value : values) result.emplace_back(value);
  return result;
}

/// The call for an operator of a graph, whose attributes are completed.
Result<ExactCall> call_of(std::string_view op, const std::vector<TensorType>& inputs,
                          const Attributes& attributes = {}) {
  const OperatorRecord& found = record(operator_named(op));
  Graph graph;
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    operands.push_back(*graph.add_input("in_" + std::to_string(i), inputs[i]));
  const auto node = graph.add_operation(operator_named(op), operands, attributes, 1);
  EXPECT_TRUE(node) << (node ? "" : node.error().message);
  std::vector<lowering::InputView> views;
  for (const TensorType& type : inputs)
    views.push_back({type.data_type, *constant_sizes(*type.shape), false});
  return exact_call(found.define({inputs, graph.node(*node).attributes, 1}), views);
}

std::string refusal(const Result<ExactCall>& call) {
  return call ? "a call: " + text(call->problem) : call.error().message;
}

std::vector<std::uint32_t> inputs_of(const Result<ExactCall>& call) {
  std::vector<std::uint32_t> inputs;
  if (!call) return inputs;
  for (const CallOperand& operand : call->operands) inputs.push_back(operand.input);
  return inputs;
}

using Inputs = std::vector<std::uint32_t>;

TEST(ExactCall, OfProducts) {
  const auto plain = call_of("MatMul", {tensor_of({5, 7}), tensor_of({7, 11})});
  ASSERT_TRUE(plain) << refusal(plain);
  EXPECT_EQ(inputs_of(plain), (Inputs{0, 1}));
  EXPECT_EQ(plain->factor, 1);
  const Attributes scaled = {{"alpha", 0.5}, {"beta", 2.0}};
  const auto added =
      call_of("Gemm", {tensor_of({5, 7}), tensor_of({7, 11}), tensor_of({5, 11})}, scaled);
  ASSERT_TRUE(added) << refusal(added);
  EXPECT_EQ(inputs_of(added), (Inputs{0, 1, 2}));
  EXPECT_EQ(added->factor, 0.5);
  EXPECT_EQ(added->addend_factor, 2);
}

TEST(ExactCall, ABiasHasNoFactor) {
  const std::vector<TensorType> inputs = {tensor_of({5, 7}), tensor_of({7, 11}), tensor_of({11})};
  EXPECT_TRUE(call_of("Gemm", inputs, {{"alpha", 0.5}}));
  EXPECT_EQ(refusal(call_of("Gemm", inputs, {{"beta", 2.0}})), "a bias has no factor");
}

TEST(ExactCall, OfConvolutions) {
  const Attributes padded = {{"pads", dimensions({1, 2, 1, 2})}};
  const auto call =
      call_of("Conv", {tensor_of({1, 3, 9, 10}), tensor_of({8, 3, 3, 3}), tensor_of({8})}, padded);
  ASSERT_TRUE(call) << refusal(call);
  EXPECT_EQ(inputs_of(call), (Inputs{0, 1, 2}));
  EXPECT_TRUE(std::get<Convolution>(call->problem).bias);
  EXPECT_EQ(operations_of(call->problem), 2.0 * 8 * 9 * 12 * 27);
}

TEST(ExactCall, OfPools) {
  Attributes window = {{"kernel_shape", dimensions({3, 3})}, {"pads", dimensions({1, 1, 1, 1})}};
  const std::vector<TensorType> input = {tensor_of({1, 4, 9, 9})};
  EXPECT_TRUE(call_of("MaxPool", input, window));
  EXPECT_EQ(refusal(call_of("AveragePool", input, window)),
            "it is not divided by the size of the window");
  window.set("count_include_pad", std::int64_t{1});
  EXPECT_TRUE(call_of("AveragePool", input, window));
  EXPECT_TRUE(call_of("GlobalAveragePool", input));
}

TEST(ExactCall, TypesThatAreNotCalled) {
  const auto product = [](DataType type) {
    return call_of("MatMul", {tensor_of({4, 4}, type), tensor_of({4, 4}, type)});
  };
  for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16})
    EXPECT_TRUE(product(type));
  for (const DataType type : {DataType::f64, DataType::i32}) EXPECT_FALSE(product(type));
  EXPECT_FALSE(call_of("MatMul", {tensor_of({0, 4}), tensor_of({4, 4})}));
}

/// A sum of products of which a triangle is left out.
TEST(ExactCall, WhatIsLeftOutInsideOfATensorIsNoPadding) {
  DefinitionBuilder d;
  const Expression n = d.variable(1), c = d.variable(1), o = d.variable(6), k = d.variable(3);
  const Expression element = d.read(0, DataType::f32, {n, c, o + k});
  const auto windows = [&](Expression guard) {
    return d.sum({k}, d.select(guard, element * d.read(1, DataType::f32, {c, d.integer(0), k}),
                               d.constant(0, DataType::f32)));
  };
  d.output({n, c, o}, windows(k <= o));
  const Definition definition = std::move(d).finish();
  const std::vector<lowering::InputView> views = {{DataType::f32, {1, 1, 8}, false},
                                                  {DataType::f32, {1, 1, 3}, false}};
  EXPECT_EQ(refusal(exact_call(definition, views)),
            "terms are left out that lie inside of the tensor");
}

}  // namespace
}  // namespace lemma::backend
