#include "verifier/conditions/shape_rules.h"

#include <fmt/format.h>

namespace lemma::verifier {
namespace {

void demand_equal(const Dimension& a, const Dimension& b, Zeros& zeros) {
  if (!(a == b)) zeros.push_back(a - b);
}

Result<std::size_t> axis_of(const Shape& shape, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (axis < -rank || axis >= rank)
    return bad_input(fmt::format("a tensor of {} axes has no axis {}", rank, axis));
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

}  // namespace

Result<Shape> elementwise_shape(const std::vector<Shape>& operands, Zeros& zeros) {
  for (std::size_t i = 1; i < operands.size(); ++i) {
    if (operands[i].size() != operands[0].size()) return bad_input("operands of unequal rank");
    for (std::size_t j = 0; j < operands[0].size(); ++j)
      demand_equal(operands[i][j], operands[0][j], zeros);
  }
  return operands.at(0);
}

Result<Shape> matmul_shape(const Shape& left, const Shape& right, Zeros& zeros) {
  if (left.size() < 2 || left.size() != right.size())
    return bad_input("factors of unequal rank, or of less than two axes");
  for (std::size_t i = 0; i + 2 < left.size(); ++i) demand_equal(right[i], left[i], zeros);
  demand_equal(right[right.size() - 2], left.back(), zeros);
  Shape shape = left;
  shape.back() = right.back();
  return shape;
}

Result<Shape> concat_shape(const std::vector<Shape>& operands, std::int64_t axis, Zeros& zeros) {
  LEMMA_ASSIGN_OR_RETURN(const std::size_t along, axis_of(operands.at(0), axis));
  Shape shape = operands[0];
  for (std::size_t i = 1; i < operands.size(); ++i) {
    if (operands[i].size() != shape.size()) return bad_input("operands of unequal rank");
    for (std::size_t j = 0; j < shape.size(); ++j) {
      if (j == along)
        shape[j] = shape[j] + operands[i][j];
      else
        demand_equal(operands[i][j], shape[j], zeros);
    }
  }
  return shape;
}

Result<std::vector<Shape>> split_shapes(const Shape& operand, std::int64_t axis, const Shape& parts,
                                        Zeros& zeros) {
  LEMMA_ASSIGN_OR_RETURN(const std::size_t along, axis_of(operand, axis));
  Dimension sum(0);
  std::vector<Shape> shapes;
  for (const Dimension& part : parts) {
    sum = sum + part;
    shapes.push_back(operand);
    shapes.back()[along] = part;
  }
  demand_equal(operand[along], sum, zeros);
  return shapes;
}

Result<Shape> convolution_shape(const Shape& data, const Shape& weight,
                                const ConvolutionSizes& sizes, Zeros& zeros) {
  const std::size_t axes = sizes.strides.size();
  if (data.size() != axes + 2 || weight.size() != axes + 2 || sizes.pads.size() != 2 * axes)
    return bad_input("a convolution of tensors of another rank");
  if (sizes.group) demand_equal(data[1], weight[1] * *sizes.group, zeros);
  Shape shape = {data[0], weight[0]};
  for (std::size_t i = 0; i < axes; ++i) {
    const Dimension dilation = sizes.dilations.empty() ? Dimension(1) : sizes.dilations[i];
    const Dimension room = data[i + 2] + sizes.pads[i] + sizes.pads[i + axes] -
                           dilation * (weight[i + 2] - Dimension(1)) - Dimension(1);
    shape.push_back(floor_div(room, sizes.strides[i]) + Dimension(1));
  }
  return shape;
}

}  // namespace lemma::verifier
