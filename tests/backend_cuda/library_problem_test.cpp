// From operators to problems of libraries: sizes, strides, padding, what is done to the result, and what is refused.

#include "backend_cuda/libraries/library_problem.h"

#include <gtest/gtest.h>

#include "ir/graph.h"

namespace lemma::backend {
namespace {

TensorType tensor(std::initializer_list<std::int64_t> sizes, DataType type = DataType::f32) {
  Shape shape;
  for (const std::int64_t size : sizes) shape.emplace_back(size);
  return {type, std::move(shape)};
}

Shape list(std::initializer_list<std::int64_t> values) {
  Shape result;
  for (const std::int64_t value : values) result.emplace_back(value);
  return result;
}

/// The problem of an application; its result's type is inferred.
Result<LibraryProblem> problem(std::string_view op, std::vector<TensorType> inputs,
                               const Attributes& attributes = {}) {
  const OperatorRecord& found = record(operator_named(op));
  Graph graph;
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    operands.push_back(*graph.add_input("in_" + std::to_string(i), inputs[i]));
  const auto node = graph.add_operation(operator_named(op), operands, attributes, 1);
  EXPECT_TRUE(node) << (node ? "" : node.error().message);
  if (!node) return tl::unexpected(node.error());
  const Node& made = graph.node(*node);
  CostKey key;
  key.op = &found;
  key.attributes = made.attributes;
  key.inputs = std::move(inputs);
  key.outputs = graph.output_types(made);
  return library_problem(key);
}

std::string described(const Result<LibraryProblem>& found) {
  return found ? text(*found) : found.error().message;
}

MatrixProduct product(const Result<LibraryProblem>& found) {
  EXPECT_TRUE(found && std::holds_alternative<MatrixProduct>(*found)) << described(found);
  return found ? std::get<MatrixProduct>(*found) : MatrixProduct{};
}
Convolution convolution(const Result<LibraryProblem>& found) {
  EXPECT_TRUE(found && std::holds_alternative<Convolution>(*found)) << described(found);
  return found ? std::get<Convolution>(*found) : Convolution{};
}
Pool pool(const Result<LibraryProblem>& found) {
  EXPECT_TRUE(found && std::holds_alternative<Pool>(*found)) << described(found);
  return found ? std::get<Pool>(*found) : Pool{};
}

using Sizes = std::vector<std::int64_t>;

TEST(MatrixProduct, OfTwoMatrices) {
  const MatrixProduct p = product(problem("MatMul", {tensor({5, 7}), tensor({7, 11})}));
  EXPECT_EQ(p.type, DataType::f32);
  EXPECT_EQ(p.rows, 5);
  EXPECT_EQ(p.inner, 7);
  EXPECT_EQ(p.columns, 11);
  EXPECT_EQ(p.batches, 1);
  EXPECT_EQ(p.left, (MatrixOperand{false, 7, 0}));
  EXPECT_EQ(p.right, (MatrixOperand{false, 11, 0}));
  EXPECT_EQ(p.result, (MatrixOperand{false, 11, 0}));
  EXPECT_EQ(bytes_of(LibraryProblem(p)), 4 * (35 + 77 + 55));
}

TEST(MatrixProduct, BatchesHaveStrides) {
  const MatrixProduct p = product(problem(
      "MatMul", {tensor({2, 3, 5, 7}, DataType::f16), tensor({2, 3, 7, 11}, DataType::f16)}));
  EXPECT_EQ(p.type, DataType::f16);
  EXPECT_EQ(p.batches, 6);
  EXPECT_EQ(p.left, (MatrixOperand{false, 7, 35}));
  EXPECT_EQ(p.right, (MatrixOperand{false, 11, 77}));
  EXPECT_EQ(p.result, (MatrixOperand{false, 11, 55}));
}

TEST(MatrixProduct, BatchesOfOneWeightAreRows) {
  const MatrixProduct p = product(problem("MatMul", {tensor({4, 5, 7}), tensor({7, 11})}));
  EXPECT_EQ(p.batches, 1);
  EXPECT_EQ(p.rows, 20);
  EXPECT_EQ(p.left, (MatrixOperand{false, 7, 0}));
}

TEST(MatrixProduct, TransposedOperandsAndWhatIsAdded) {
  const Attributes both = {{"transA", std::int64_t{1}}, {"transB", std::int64_t{1}}};
  const MatrixProduct p =
      product(problem("Gemm", {tensor({7, 5}), tensor({11, 7}), tensor({11})}, both));
  EXPECT_EQ(p.rows, 5);
  EXPECT_EQ(p.columns, 11);
  EXPECT_EQ(p.left, (MatrixOperand{true, 5, 0}));
  EXPECT_EQ(p.right, (MatrixOperand{true, 7, 0}));
  EXPECT_EQ(p.addend, MatrixProduct::Addend::column_vector);
  EXPECT_EQ(product(problem("Gemm", {tensor({5, 7}), tensor({7, 11}), tensor({5, 11})})).addend,
            MatrixProduct::Addend::matrix);
  EXPECT_EQ(product(problem("Gemm", {tensor({5, 7}), tensor({7, 11})})).addend,
            MatrixProduct::Addend::none);
  EXPECT_FALSE(problem("Gemm", {tensor({5, 7}), tensor({7, 11}), tensor({5, 1})}));
}

TEST(MatrixProduct, FactorsDoNotMatter) {
  const Attributes scaled = {{"alpha", 0.5}, {"beta", 2.0}};
  EXPECT_EQ(product(problem("Gemm", {tensor({5, 7}), tensor({7, 11}), tensor({11})}, scaled)),
            product(problem("Gemm", {tensor({5, 7}), tensor({7, 11}), tensor({11})})));
}

TEST(MatrixProduct, VectorsAndSizesOfOne) {
  const MatrixProduct row = product(problem("MatMul", {tensor({7}), tensor({7, 11})}));
  EXPECT_EQ(row.rows, 1);
  EXPECT_EQ(row.columns, 11);
  const MatrixProduct column = product(problem("MatMul", {tensor({5, 7}), tensor({7, 1})}));
  EXPECT_EQ(column.rows * column.columns, 5);
  EXPECT_EQ(column.inner, 7);
  EXPECT_FALSE(problem("MatMul", {tensor({0, 7}), tensor({7, 11})}));
}

TEST(ConvolutionProblem, HasStridesPadsAndGaps) {
  const Attributes window = {
      {"strides", list({2, 1})}, {"pads", list({1, 2, 1, 2})}, {"dilations", list({1, 2})}};
  const Convolution c = convolution(
      problem("Conv", {tensor({1, 3, 9, 10}), tensor({8, 3, 3, 3}), tensor({8})}, window));
  EXPECT_EQ(c.input, (Sizes{1, 3, 9, 10}));
  EXPECT_EQ(c.weight, (Sizes{8, 3, 3, 3}));
  EXPECT_EQ(c.output, (Sizes{1, 8, 5, 10}));
  EXPECT_EQ(c.groups, 1);
  EXPECT_EQ(c.strides, (Sizes{2, 1}));
  EXPECT_EQ(c.dilations, (Sizes{1, 2}));
  EXPECT_EQ(c.pads, (Sizes{1, 2}));
  EXPECT_TRUE(c.bias);
}

TEST(ConvolutionProblem, OfOneElementAndOverOneAxis) {
  const Convolution point =
      convolution(problem("Conv", {tensor({2, 3, 9, 10}), tensor({8, 3, 1, 1})}));
  EXPECT_EQ(point.output, (Sizes{2, 8, 9, 10}));
  EXPECT_FALSE(point.bias);
  const Attributes padded = {{"pads", list({2, 2})}};
  const Convolution line =
      convolution(problem("Conv", {tensor({1, 4, 20}), tensor({6, 4, 5})}, padded));
  EXPECT_EQ(line.pads, Sizes{2});
}

TEST(ConvolutionProblem, InGroups) {
  const auto grouped = [](std::int64_t group) { return Attributes{{"group", Dimension(group)}}; };
  EXPECT_EQ(convolution(problem("Conv", {tensor({1, 8, 6, 6}), tensor({12, 2, 3, 3})}, grouped(4)))
                .groups,
            4);
  // One channel each, and several results for each.
  EXPECT_EQ(
      convolution(problem("Conv", {tensor({1, 8, 6, 6}), tensor({8, 1, 3, 3})}, grouped(8))).groups,
      8);
  EXPECT_EQ(convolution(problem("Conv", {tensor({1, 8, 6, 6}), tensor({16, 1, 3, 3})}, grouped(8)))
                .groups,
            8);
}

TEST(ConvolutionProblem, PaddingThatDiffersIsRefused) {
  const Attributes uneven = {{"pads", list({0, 0, 1, 1})}};
  const auto refused = problem("Conv", {tensor({1, 3, 8, 8}), tensor({8, 3, 3, 3})}, uneven);
  ASSERT_FALSE(refused) << described(refused);
  EXPECT_EQ(refused.error().message, "its padding differs at the two ends");
}

TEST(PoolProblem, MaximaAndAverages) {
  const Attributes window = {
      {"kernel_shape", list({3, 3})}, {"strides", list({2, 2})}, {"pads", list({1, 1, 1, 1})}};
  const Pool maximum = pool(problem("MaxPool", {tensor({1, 4, 9, 9})}, window));
  EXPECT_EQ(maximum.kind, Pool::Kind::maximum);
  EXPECT_EQ(maximum.windows, (Sizes{3, 3}));
  EXPECT_EQ(maximum.strides, (Sizes{2, 2}));
  EXPECT_EQ(maximum.pads, (Sizes{1, 1}));
  EXPECT_EQ(maximum.output, (Sizes{1, 4, 5, 5}));
  EXPECT_EQ(pool(problem("AveragePool", {tensor({1, 4, 9, 9})}, window)).kind, Pool::Kind::average);
  Attributes counted = window;
  counted.set("count_include_pad", std::int64_t{1});
  EXPECT_EQ(pool(problem("AveragePool", {tensor({1, 4, 9, 9})}, counted)).kind,
            Pool::Kind::average_with_padding);
  const Pool global = pool(problem("GlobalAveragePool", {tensor({2, 4, 5, 6})}));
  EXPECT_EQ(global.windows, (Sizes{5, 6}));
  EXPECT_EQ(global.output, (Sizes{2, 4, 1, 1}));
  const Attributes gaps = {{"kernel_shape", list({3, 3})}, {"dilations", list({2, 2})}};
  EXPECT_FALSE(problem("MaxPool", {tensor({1, 4, 9, 9})}, gaps));
}

TEST(LibraryProblem, WhatNoLibraryHasIsRefused) {
  EXPECT_FALSE(problem("Relu", {tensor({4, 4})}));
  EXPECT_FALSE(problem("Add", {tensor({4, 4}), tensor({4, 4})}));
  EXPECT_FALSE(problem("Softmax", {tensor({4, 4})}));
  EXPECT_FALSE(problem("Transpose", {tensor({4, 5})}, {{"perm", Integers{1, 0}}}));
  EXPECT_FALSE(problem("MatMul", {tensor({4, 4}, DataType::i32), tensor({4, 4}, DataType::i32)}));
  EXPECT_FALSE(problem("ReduceSum", {tensor({4, 4, 3})}));
}

}  // namespace
}  // namespace lemma::backend
