#pragma once
// Shapes of the results of operators, where sizes that must be equal are written down as equations
// instead of being compared. Nothing is broadcast: sizes that are added must be equal.

#include <optional>
#include <vector>

#include "ir/dimension.h"
#include "ir/result.h"

namespace lemma::verifier {

/// Each must be 0.
using Zeros = std::vector<Dimension>;

Result<Shape> elementwise_shape(const std::vector<Shape>& operands, Zeros& zeros);
Result<Shape> matmul_shape(const Shape& left, const Shape& right, Zeros& zeros);
Result<Shape> concat_shape(const std::vector<Shape>& operands, std::int64_t axis, Zeros& zeros);
Result<std::vector<Shape>> split_shapes(const Shape& operand, std::int64_t axis, const Shape& parts,
                                        Zeros& zeros);

struct ConvolutionSizes {
  std::optional<Dimension> group;  // absent: channels are not compared
  Shape strides, pads, dilations;
};
/// The divisibility of the output channels by the groups is not written down.
Result<Shape> convolution_shape(const Shape& data, const Shape& weight,
                                const ConvolutionSizes& sizes, Zeros& zeros);

}  // namespace lemma::verifier
