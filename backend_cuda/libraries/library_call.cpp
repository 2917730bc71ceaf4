#include "backend_cuda/libraries/library_call.h"

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

}  // namespace lemma::backend
