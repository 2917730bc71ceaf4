#include "ir/operators/families.h"
#include "ir/operators/helpers.h"

#include <array>

#include <fmt/format.h>

namespace lemma::operators {
namespace {

// ---- MatMul -----------------------------------------------------------------------------------

/// A vector counts as a matrix of one row (left) or one column (right), as in numpy.matmul.
struct MatMulShapes {
  Shape left, right;  // with at least two axes
  bool left_vector = false, right_vector = false;
};

MatMulShapes matmul_shapes(const Instance& in) {
  MatMulShapes shapes{in.shape(0), in.shape(1), in.rank(0) == 1, in.rank(1) == 1};
  if (shapes.left_vector) shapes.left.insert(shapes.left.begin(), Dimension(1));
  if (shapes.right_vector) shapes.right.push_back(Dimension(1));
  return shapes;
}

Result<std::vector<TensorType>> infer_matmul(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::numeric));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 1));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 1, 1));
  const auto [left, right, left_vector, right_vector] = matmul_shapes(in);
  if (!(left.back() == right[right.size() - 2]))
    return bad_input(fmt::format("inner sizes differ: {} and {}", text(in.shape(0)),
                                 text(in.shape(1))));
  LEMMA_ASSIGN_OR_RETURN(Shape shape, broadcast(Shape(left.begin(), left.end() - 2),
                                                Shape(right.begin(), right.end() - 2)));
  if (!left_vector) shape.push_back(left[left.size() - 2]);
  if (!right_vector) shape.push_back(right.back());
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}

Definition define_matmul(const Instance& in) {
  DefinitionBuilder d;
  const auto shapes = matmul_shapes(in);
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_matmul));
  const Expression k = d.variable(shapes.left.back());
  const std::size_t batch = axes.size() - (shapes.left_vector ? 0 : 1) - (shapes.right_vector ? 0 : 1);
  const std::vector<Expression> batch_axes(axes.begin(), axes.begin() + static_cast<long>(batch));
  std::vector<Expression> left = broadcast_indices(
      d, Shape(shapes.left.begin(), shapes.left.end() - 2), batch_axes);
  std::vector<Expression> right = broadcast_indices(
      d, Shape(shapes.right.begin(), shapes.right.end() - 2), batch_axes);
  if (!shapes.left_vector) left.push_back(axes[batch]);
  left.push_back(k);
  right.push_back(k);
  if (!shapes.right_vector) right.push_back(axes.back());
  d.output(axes, d.sum({k}, d.read(0, in.type(0), left) * d.read(1, in.type(1), right)));
  return std::move(d).finish();
}

constexpr std::array matmul_onnx = {OnnxMapping{.name = "MatMul", .since = 1}};

constexpr std::array records = {
    OperatorRecord{.name = "MatMul",
                   .summary = "matrix product of the last two axes, broadcast over the others",
                   .inputs = {2, 2},
                   .outputs = {1, 1},
                   .flags = associative | linear,
                   .infer = infer_matmul,
                   .define = define_matmul,
                   .onnx = matmul_onnx},
};
static_assert(is_complete(records));

}  // namespace

std::span<const OperatorRecord> contraction() { return records; }

}  // namespace lemma::operators
