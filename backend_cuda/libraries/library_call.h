#pragma once
// How a problem is put to a library: what the calls are given, without a header of CUDA.

#include <cstdint>
#include <string>
#include <vector>

#include "backend_cuda/libraries/library_problem.h"

namespace lemma::backend {

/// A matrix in column-major order, as cuBLASLt wants it.
struct ColumnMajorMatrix {
  std::int64_t rows = 1, columns = 1, leading = 1, batch_stride = 0;
  bool transposed = false;  // by the call
  friend bool operator==(const ColumnMajorMatrix&, const ColumnMajorMatrix&) = default;
};

/// D = A * B: the transposed product, because a row-major matrix is its transpose in column-major order. A bias has an
/// element for each row of D (CUBLASLT_EPILOGUE_BIAS).
struct ColumnMajorProduct {
  ColumnMajorMatrix a, b, d;
  std::int64_t batches = 1;
};
ColumnMajorProduct column_major(const MatrixProduct& product);

/// cuDNN wants two spatial axes at least: another one of size 1 stands in front of a single one.
Convolution with_two_axes(Convolution convolution);
Pool with_two_axes(Pool pool);

/// One line for programs that know nothing of problems (cuda_book/baseline.cu), numbers only but for the first two
/// words:
///   product TYPE batches, of each of a, b and d (rows, columns, leading, batch stride, transposed), addend (0, 1 a column
///     vector, 2 a matrix), relu
///   convolution TYPE axes, input, weight, output, groups, strides, dilations, pads, bias, relu
///   pool TYPE axes, kind (as Pool::Kind), input, output, windows, strides, pads
/// Convolutions and pools have two spatial axes at least; `axes` counts all.
std::string call_line(const LibraryProblem& problem);

/// How many algorithms are asked for; each is timed and the fastest counts.
inline constexpr int algorithms_asked = 8;
inline constexpr std::size_t workspace_bytes = std::size_t{256} << 20U;
/// Runs of the call that counts, each with a cold second-level cache.
inline constexpr int warm_up_runs = 3, timed_runs = 20;

}  // namespace lemma::backend
