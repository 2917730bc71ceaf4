// Operations and bytes against hand calculation.

#include "costmodel/operation_count.h"

#include <gtest/gtest.h>

#include <functional>

#include "ir/graph.h"

namespace lemma {
namespace {

TensorType f32(Shape shape) { return {DataType::f32, std::move(shape)}; }

OperationCount count(std::string_view op, const std::vector<TensorType>& inputs,
                     Attributes attributes = {}) {
  Graph graph;
  std::vector<ValueId> values;
  for (const TensorType& type : inputs)
    values.push_back(*graph.add_input(std::to_string(values.size()), type));
  const OperatorId id = operator_named(op);
  const auto outputs = static_cast<std::size_t>(record(id).outputs.minimum);
  const auto added = graph.add_operation(id, values, std::move(attributes), outputs);
  EXPECT_TRUE(added) << added.error().message;
  const Node& node = graph.node(*added);
  const auto types = graph.input_types(node);
  const auto result = count_operations(graph.op(node), {types, node.attributes, node.output_count},
                                       graph.output_types(node));
  EXPECT_TRUE(result) << op;
  return result.value_or(OperationCount{});
}

TEST(OperationCount, matmul) {
  const OperationCount c = count("MatMul", {f32({8, 3, 5}), f32({5, 7})});
  EXPECT_EQ(c.flops, 2.0 * 8 * 3 * 5 * 7);
  EXPECT_EQ(c.bytes_read, 4.0 * (8 * 3 * 5 + 5 * 7));
  EXPECT_EQ(c.bytes_written, 4.0 * 8 * 3 * 7);
  EXPECT_EQ(c.integer_operations, 0);
  EXPECT_TRUE(c.contraction);
}

TEST(OperationCount, integer_matmul_counts_as_integer_operations) {
  const TensorType a{DataType::i32, Shape{3, 5}}, b{DataType::i32, Shape{5, 7}};
  const OperationCount c = count("MatMul", {a, b});
  EXPECT_EQ(c.flops, 0);
  EXPECT_EQ(c.integer_operations, 2.0 * 3 * 5 * 7);
  const TensorType long_a{DataType::i64, Shape{3, 5}}, long_b{DataType::i64, Shape{5, 7}};
  EXPECT_EQ(count("MatMul", {long_a, long_b}).integer_operations, 2.0 * 3 * 5 * 7);
}

TEST(OperationCount, convolution) {
  // Without padding nothing but multiply-adds; 6 x 6 outputs.
  const OperationCount c = count("Conv", {f32({2, 3, 8, 8}), f32({16, 3, 3, 3})});
  EXPECT_EQ(c.flops, 2.0 * 2 * 16 * 6 * 6 * 3 * 3 * 3);
  EXPECT_EQ(c.bytes_read, 4.0 * (2 * 3 * 8 * 8 + 16 * 3 * 3 * 3));
  EXPECT_EQ(c.bytes_written, 4.0 * 2 * 16 * 6 * 6);
  EXPECT_TRUE(c.contraction);
}

TEST(OperationCount, convolution_with_bias_and_groups) {
  const OperationCount c =
      count("Conv", {f32({1, 4, 8, 8}), f32({8, 2, 1, 1}), f32({8})}, {{"group", Dimension(2)}});
  EXPECT_EQ(c.flops, 2.0 * 8 * 8 * 8 * 2 + 8 * 8 * 8);
  EXPECT_TRUE(c.contraction);
}

TEST(OperationCount, elementwise) {
  const OperationCount relu = count("Relu", {f32({4, 6})});
  EXPECT_EQ(relu.flops, 24);
  EXPECT_EQ(relu.bytes_read, 96);
  EXPECT_EQ(relu.bytes_written, 96);
  EXPECT_FALSE(relu.contraction);
  const OperationCount add = count("Add", {f32({4, 6}), f32({6})});
  EXPECT_EQ(add.flops, 24);
  EXPECT_EQ(add.bytes_read, 96 + 24);
  const OperationCount half =
      count("Add", {{DataType::f16, Shape{10}}, {DataType::f16, Shape{10}}});
  EXPECT_EQ(half.bytes(), 60);
}

TEST(OperationCount, softmax_reads_and_writes_each_element_once) {
  // Maximum, difference, exponential, sum, and division or multiplication: 5 an element, plus at most
  // one more a row.
  const OperationCount c = count("Softmax", {f32({4, 100})});
  EXPECT_GE(c.flops, 5.0 * 400);
  EXPECT_LE(c.flops, 5.0 * 400 + 2 * 4);
  EXPECT_EQ(c.bytes_read, 1600);
  EXPECT_EQ(c.bytes_written, 1600);
  EXPECT_FALSE(c.contraction);
}

TEST(OperationCount, data_movement_computes_nothing) {
  const OperationCount concat = count("Concat", {f32({2, 3}), f32({2, 5})}, {{"axis", INT64_C(1)}});
  EXPECT_EQ(concat.flops, 0);
  EXPECT_EQ(concat.integer_operations, 0);
  EXPECT_EQ(concat.bytes_read, 4.0 * 16);
  EXPECT_EQ(concat.bytes_written, 4.0 * 16);
  const OperationCount reshape = count("Reshape", {f32({2, 6})}, {{"shape", Shape{3, 4}}});
  EXPECT_EQ(reshape.flops, 0);
  EXPECT_EQ(reshape.bytes(), 96);
}

TEST(OperationCount, slices_read_what_they_need) {
  const OperationCount c = count(
      "Slice", {f32({1000})}, {{"axes", Integers{0}}, {"starts", Shape{10}}, {"ends", Shape{20}}});
  EXPECT_EQ(c.bytes_read, 40);
  EXPECT_EQ(c.bytes_written, 40);
  EXPECT_EQ(c.flops, 0);
}

TEST(OperationCount, gather_reads_rows_and_indices) {
  if (!find_operator("Gather")) GTEST_SKIP() << "there is no operator Gather";
  const OperationCount c = count("Gather", {f32({1000, 8}), {DataType::i64, Shape{3}}});
  EXPECT_EQ(c.flops, 0);
  EXPECT_EQ(c.bytes_read, 3 * 8 * 4 + 3 * 8);
  EXPECT_EQ(c.bytes_written, 3 * 8 * 4);
}

TEST(OperationCount, reductions) {
  const OperationCount c = count("ReduceSum", {f32({10, 20})}, {{"axes", Integers{1}}});
  EXPECT_EQ(c.flops, 200);
  EXPECT_EQ(c.bytes_written, 40);
  EXPECT_FALSE(c.contraction);
  EXPECT_EQ(count("ReduceSum", {f32({0, 20})}, {{"axes", Integers{1}}}).flops, 0);
}

double operations(std::string_view op, const std::vector<TensorType>& inputs,
                  Attributes attributes = {}) {
  const OperationCount c = count(op, inputs, std::move(attributes));
  return c.flops + c.integer_operations;
}

TEST(OperationCount, elements_that_are_computed_together_are_not_counted_one_by_one) {
  const Attributes last = {{"axis", std::int64_t{1}}};
  const auto indices = [](std::int64_t n) { return TensorType{DataType::i64, Shape{8, n}}; };
  const std::vector<std::function<double(std::int64_t)>> all = {
      [&](std::int64_t n) {
        return operations("CumSum", {f32({8, n})}, last);
      },
      [&](std::int64_t n) {
        return operations("TopK", {f32({8, n})}, {{"axis", std::int64_t{1}}, {"k", Dimension(4)}});
      },
      [&](std::int64_t n) {
        return operations("ScatterElements", {f32({8, n}), indices(n), f32({8, n})}, last);
      },
      [&](std::int64_t n) {
        return operations("DFT", {f32({8, n, 2})}, {{"axis", std::int64_t{1}}});
      }};
  for (const auto& of_size : all) {
    EXPECT_GE(of_size(1024), 8 * 1024);
    EXPECT_LE(of_size(1024), 8 * 1024 * 200);
    EXPECT_LE(of_size(4096), 5 * of_size(1024));
  }
}

TEST(OperationCount, what_is_computed_together_reads_as_before) {
  const OperationCount c = count("CumSum", {f32({8, 100})}, {{"axis", std::int64_t{1}}});
  EXPECT_EQ(c.bytes_read, 4.0 * 8 * 100);
  EXPECT_EQ(c.bytes_written, 4.0 * 8 * 100);
}

TEST(OperationCount, symbolic_sizes_have_no_count) {
  const std::vector<TensorType> inputs = {f32({Dimension::symbol("N")})};
  const Attributes none;
  EXPECT_FALSE(count_operations(record(operator_named("Relu")), {inputs, none, 1}, inputs));
}

}  // namespace
}  // namespace lemma
