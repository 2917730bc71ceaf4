#include "backend_cuda/libraries/library_call.h"

#include <initializer_list>

namespace lemma::backend {

namespace {

/// What is stored: `rows` by `columns` in row-major order, the other way round if it is transposed.
ColumnMajorMatrix transpose_of(const MatrixOperand& operand, std::int64_t rows,
                               std::int64_t columns) {
  ColumnMajorMatrix matrix;
  matrix.rows = operand.transposed ? rows : columns;
  matrix.columns = operand.transposed ? columns : rows;
  matrix.leading = operand.leading;
  matrix.batch_stride = operand.batch_stride;
  matrix.transposed = operand.transposed;
  return matrix;
}

void insert_axis(std::vector<std::int64_t>& values, std::size_t axis, std::int64_t value) {
  values.insert(values.begin() + static_cast<std::ptrdiff_t>(axis), value);
}

}  // namespace

ColumnMajorProduct column_major(const MatrixProduct& product) {
  ColumnMajorProduct result;
  result.a = transpose_of(product.right, product.inner, product.columns);
  result.b = transpose_of(product.left, product.rows, product.inner);
  result.d = transpose_of(product.result, product.rows, product.columns);
  result.batches = product.batches;
  return result;
}

Convolution with_two_axes(Convolution convolution) {
  if (convolution.strides.size() != 1) return convolution;
  for (auto* sizes : {&convolution.input, &convolution.weight, &convolution.output})
    insert_axis(*sizes, 2, 1);
  insert_axis(convolution.strides, 0, 1);
  insert_axis(convolution.dilations, 0, 1);
  insert_axis(convolution.pads, 0, 0);
  return convolution;
}

Pool with_two_axes(Pool pool) {
  if (pool.strides.size() != 1) return pool;
  for (auto* sizes : {&pool.input, &pool.output}) insert_axis(*sizes, 2, 1);
  insert_axis(pool.windows, 0, 1);
  insert_axis(pool.strides, 0, 1);
  insert_axis(pool.pads, 0, 0);
  return pool;
}

namespace {

class Line {
 public:
  Line(std::string_view what, DataType type) : text_(what) {
    text_ += ' ';
    text_ += name(type);
  }
  Line& add(std::initializer_list<std::int64_t> values) { return add(std::vector(values)); }
  Line& add(const std::vector<std::int64_t>& values) {
    for (const std::int64_t value : values) text_ += ' ' + std::to_string(value);
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string line_of(const MatrixProduct& problem) {
  const ColumnMajorProduct call = column_major(problem);
  Line line("product", problem.type);
  line.add({call.batches});
  for (const ColumnMajorMatrix& matrix : {call.a, call.b, call.d})
    line.add({matrix.rows, matrix.columns, matrix.leading, matrix.batch_stride,
              matrix.transposed ? 1 : 0});
  return line.add({static_cast<std::int64_t>(problem.addend), problem.relu ? 1 : 0}).text();
}

std::string line_of(const Convolution& problem) {
  const Convolution call = with_two_axes(problem);
  Line line("convolution", call.type);
  line.add({static_cast<std::int64_t>(call.input.size())});
  line.add(call.input).add(call.weight).add(call.output).add({call.groups});
  line.add(call.strides).add(call.dilations).add(call.pads);
  return line.add({call.bias ? 1 : 0, call.relu ? 1 : 0}).text();
}

std::string line_of(const Pool& problem) {
  const Pool call = with_two_axes(problem);
  Line line("pool", call.type);
  line.add({static_cast<std::int64_t>(call.input.size()), static_cast<std::int64_t>(call.kind)});
  return line.add(call.input)
      .add(call.output)
      .add(call.windows)
      .add(call.strides)
      .add(call.pads)
      .text();
}

}  // namespace

std::string call_line(const LibraryProblem& problem) {
  return std::visit([](const auto& alternative) { return line_of(alternative); }, problem);
}

}  // namespace lemma::backend
