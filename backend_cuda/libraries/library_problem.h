#pragma once
// Applications of operators as problems that libraries of NVIDIA solve in one call: matrix products (cuBLASLt),
// convolutions and pools (cuDNN). They are recognised by the loop nests of their definitions, whatever the operators
// are called. No header of CUDA is needed here.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "costmodel/cost_key.h"

namespace lemma::backend {

/// A matrix in row-major order: element (i, j) of the stored matrix is at i * leading + j.
struct MatrixOperand {
  bool transposed = false;  // what is stored is the transpose
  std::int64_t leading = 1;
  std::int64_t batch_stride = 0;  // 0: the same for all batches
  friend bool operator==(const MatrixOperand&, const MatrixOperand&) = default;
};

/// result[r, c] = sum over k of left[r, k] * right[k, c], and what is done to it then.
struct MatrixProduct {
  enum class Addend : std::uint8_t {
    none,
    column_vector,  // an element for each column, contiguous
    matrix,         // an element for each of the result, in its place
  };
  DataType type = DataType::undefined;
  std::int64_t rows = 1, columns = 1, inner = 1, batches = 1;
  MatrixOperand left, right, result;  // the result is not transposed
  Addend addend = Addend::none;
  bool relu = false;
  friend bool operator==(const MatrixProduct&, const MatrixProduct&) = default;
};

/// Input and weight as ONNX has them: batch, channels, spatial axes. Padding is the same at both ends, or what is
/// beyond it is not read.
struct Convolution {
  DataType type = DataType::undefined;
  std::vector<std::int64_t> input, weight, output;
  std::int64_t groups = 1;
  std::vector<std::int64_t> strides, dilations, pads;  // by spatial axis
  bool bias = false, relu = false;
  friend bool operator==(const Convolution&, const Convolution&) = default;
};

struct Pool {
  enum class Kind : std::uint8_t { maximum, average, average_with_padding };
  DataType type = DataType::undefined;
  Kind kind = Kind::maximum;
  std::vector<std::int64_t> input, output;
  std::vector<std::int64_t> windows, strides, pads;  // by spatial axis
  friend bool operator==(const Pool&, const Pool&) = default;
};

using LibraryProblem = std::variant<MatrixProduct, Convolution, Pool>;

/// An error (`unsupported`) says why no call computes it.
Result<LibraryProblem> library_problem(const CostKey& key);

/// One line: "product f32 4x16x24, right transposed, relu".
std::string text(const LibraryProblem& problem);

/// What the problem reads and writes.
double bytes_of(const LibraryProblem& problem);

}  // namespace lemma::backend
