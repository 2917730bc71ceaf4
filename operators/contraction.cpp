#include <array>
#include <cmath>

#include <fmt/format.h>

#include "operators/elementwise.h"
#include "operators/families.h"

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

Result<Shape> matmul_shape(const Instance& in) {
  const auto [left, right, left_vector, right_vector] = matmul_shapes(in);
  LEMMA_ASSIGN_OR_RETURN(Shape shape, broadcast(in, Shape(left.begin(), left.end() - 2),
                                                Shape(right.begin(), right.end() - 2)));
  LEMMA_RETURN_IF_ERROR(require_same_size(in, left.back(), right[right.size() - 2], "inner sizes"));
  if (!left_vector) shape.push_back(left[left.size() - 2]);
  if (!right_vector) shape.push_back(right.back());
  return shape;
}

Result<std::vector<TensorType>> infer_matmul(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::numeric));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 1));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 1, 1));
  LEMMA_ASSIGN_OR_RETURN(Shape shape, matmul_shape(in));
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}

/// Where the factors of an output element stand; `k` is the variable to sum over.
struct MatMulReads {
  std::vector<Expression> axes, left, right;
  Expression k;
};

MatMulReads matmul_reads(DefinitionBuilder& d, const Instance& in, const Shape& output) {
  const auto shapes = matmul_shapes(in);
  MatMulReads reads;
  reads.axes = d.variables(output);
  reads.k = d.variable(shapes.left.back());
  const std::size_t rows = shapes.left_vector ? 0 : 1, columns = shapes.right_vector ? 0 : 1;
  const std::size_t batch = output.size() - rows - columns;
  const std::vector<Expression> batch_axes(reads.axes.begin(),
                                           reads.axes.begin() + static_cast<long>(batch));
  const Shape left(shapes.left.begin(), shapes.left.end() - 2);
  const Shape right(shapes.right.begin(), shapes.right.end() - 2);
  reads.left = broadcast_indices(d, left, batch_axes);
  reads.right = broadcast_indices(d, right, batch_axes);
  if (!shapes.left_vector) reads.left.push_back(reads.axes[batch]);
  reads.left.push_back(reads.k);
  reads.right.push_back(reads.k);
  if (!shapes.right_vector) reads.right.push_back(reads.axes.back());
  return reads;
}

Definition define_matmul(const Instance& in) {
  DefinitionBuilder d;
  const MatMulReads at = matmul_reads(d, in, output_shape(in, infer_matmul));
  const Expression product = d.read(0, in.type(0), at.left) * d.read(1, in.type(1), at.right);
  d.output(at.axes, d.sum({at.k}, product));
  return std::move(d).finish();
}

constexpr std::array matmul_onnx = {OnnxMapping{.name = "MatMul", .since = 1}};

// ---- MatMulInteger -----------------------------------------------------------------------------

/// A zero point is one number, or one for each row of the left or column of the right matrix.
Result<void> check_zero_point(const Instance& in, std::size_t input, const Dimension& size) {
  if (!in.has(input)) return {};
  if (in.type(input) != in.type(input - 2))
    return bad_input(fmt::format("zero point {} is {}, not {}", input - 2, name(in.type(input)),
                                 name(in.type(input - 2))));
  if (in.rank(input) > 1) return unsupported("zero points with several axes");
  if (in.rank(input) == 0 || in.shape(input)[0].is(1)) return {};
  return require_same_size(in, in.shape(input)[0], size, "zero points and sizes");
}

Result<std::vector<TensorType>> infer_matmul_integer(const Instance& in) {
  for (std::size_t i = 0; i < 2; ++i)
    if (in.type(i) != DataType::u8 && in.type(i) != DataType::i8)
      return bad_input(fmt::format("input {} is {}, not u8 or i8", i, name(in.type(i))));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 1));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 1, 1));
  LEMMA_ASSIGN_OR_RETURN(Shape shape, matmul_shape(in));
  const auto shapes = matmul_shapes(in);
  LEMMA_RETURN_IF_ERROR(check_zero_point(in, 2, shapes.left[shapes.left.size() - 2]));
  LEMMA_RETURN_IF_ERROR(check_zero_point(in, 3, shapes.right.back()));
  return std::vector<TensorType>{{DataType::i32, std::move(shape)}};
}

/// An element less its zero point; `along` is the row of the left or column of the right matrix.
Expression shifted(DefinitionBuilder& d, const Instance& in, std::uint32_t input,
                   const std::vector<Expression>& indices, Expression along) {
  const Expression element = d.cast(d.read(input, in.type(input), indices), DataType::i32);
  const std::uint32_t zero_input = input + 2;
  if (!in.has(zero_input)) return element;
  std::vector<Expression> zero_indices;
  if (in.rank(zero_input) == 1)
    zero_indices.push_back(in.shape(zero_input)[0].is(1) ? d.integer(0) : along);
  const Expression zero = d.read(zero_input, in.type(zero_input), zero_indices);
  return element - d.cast(zero, DataType::i32);
}

Definition define_matmul_integer(const Instance& in) {
  DefinitionBuilder d;
  const MatMulReads at = matmul_reads(d, in, output_shape(in, infer_matmul_integer));
  const Expression row = at.left.size() > 1 ? at.left[at.left.size() - 2] : d.integer(0);
  const Expression column = at.right.size() > 1 ? at.right.back() : d.integer(0);
  const Expression product = shifted(d, in, 0, at.left, row) * shifted(d, in, 1, at.right, column);
  d.output(at.axes, d.sum({at.k}, product));
  return std::move(d).finish();
}

// ---- Gemm --------------------------------------------------------------------------------------

constexpr std::array gemm_attributes = {
    AttributeSpecification{"alpha", AttributeKind::real, "1.0"},
    AttributeSpecification{"beta", AttributeKind::real, "1.0"},
    AttributeSpecification{"transA", AttributeKind::integer, "0"},
    AttributeSpecification{"transB", AttributeKind::integer, "0"},
};

Result<std::vector<TensorType>> infer_gemm(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::numeric));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 2, 2));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 1, 2, 2));
  for (const char* factor : {"alpha", "beta"})
    if (!is_real(in.type(0)) && !in.attributes.is_whole(factor))
      return unsupported(fmt::format("a fractional '{}' for integers", factor));
  const std::size_t left = in.attributes.integer("transA") != 0 ? 1 : 0;
  const std::size_t right = in.attributes.integer("transB") != 0 ? 1 : 0;
  LEMMA_RETURN_IF_ERROR(
      require_same_size(in, in.shape(0)[1 - left], in.shape(1)[right], "inner sizes"));
  Shape shape = {in.shape(0)[left], in.shape(1)[1 - right]};
  if (in.has(2)) {
    LEMMA_ASSIGN_OR_RETURN(const bool fits, broadcasts_to(in, in.shape(2), shape));
    if (!fits)
      return bad_input(fmt::format("{} cannot be broadcast to {}", text(in.shape(2)), text(shape)));
  }
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}

Definition define_gemm(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_gemm));
  const bool left = in.attributes.integer("transA") != 0;
  const bool right = in.attributes.integer("transB") != 0;
  const Expression k = d.variable(in.shape(0)[left ? 0 : 1]);
  const Expression a =
      left ? d.read(0, in.type(0), {k, axes[0]}) : d.read(0, in.type(0), {axes[0], k});
  const Expression b =
      right ? d.read(1, in.type(1), {axes[1], k}) : d.read(1, in.type(1), {k, axes[1]});
  Expression value = d.scaled(in.attributes.real("alpha"), d.sum({k}, a * b));
  if (in.has(2))
    value = value + d.scaled(in.attributes.real("beta"), read_broadcast(d, in, 2, axes));
  d.output(axes, value);
  return std::move(d).finish();
}

Result<ExportedCall> export_gemm(const Instance& in, int opset, ExportedCall exported) {
  if (!in.has(2) && opset < 11)
    return unsupported(fmt::format("operator set {} has no product without addend", opset));
  for (const std::string_view factor : {"alpha", "beta"})
    if (in.attributes.number(factor) == 1) exported.attributes.erase(factor);
  for (const std::string_view flag : {"transA", "transB"})
    if (in.attributes.integer(flag) == 0) exported.attributes.erase(flag);
  return exported;
}

/// Before operator set 7 an attribute allowed the addend to be broadcast.
Result<ImportedCall> import_early_gemm(const OnnxCall&, ImportedCall imported) { return imported; }

Result<ExportedCall> export_early_gemm(const Instance& in, int opset, ExportedCall exported) {
  LEMMA_ASSIGN_OR_RETURN(exported, export_gemm(in, opset, std::move(exported)));
  if (in.shape(2) != output_shape(in, infer_gemm))
    exported.attributes.set("broadcast", std::int64_t{1});
  return exported;
}

constexpr std::array gemm_onnx = {
    OnnxMapping{.name = "Gemm", .since = 7, .export_hook = export_gemm},
    OnnxMapping{.name = "Gemm",
                .since = 1,
                .until = 6,
                .import_hook = import_early_gemm,
                .export_hook = export_early_gemm}};

constexpr std::array contraction_records = {
    OperatorRecord{.name = "Gemm",
                   .summary = "alpha times the product of two matrices, plus beta times a third",
                   .inputs = {2, 3},
                   .attributes = gemm_attributes,
                   .infer = infer_gemm,
                   .define = define_gemm,
                   .onnx = gemm_onnx},
    OperatorRecord{.name = "MatMul",
                   .summary = "matrix product of the last two axes, broadcast over the others",
                   .inputs = {2, 2},
                   .flags = linear | broadcasting,
                   .infer = infer_matmul,
                   .define = define_matmul,
                   .onnx = matmul_onnx},
    OperatorRecord{.name = "MatMulInteger",
                   .summary = "matrix product of 8-bit integers less zero points, in 32 bits",
                   .inputs = {2, 4},
                   .infer = infer_matmul_integer,
                   .define = define_matmul_integer,
                   .onnx = same_in_onnx<"MatMulInteger", 10>},
};
static_assert(is_complete(contraction_records));

}  // namespace

std::span<const OperatorRecord> contraction() { return contraction_records; }

}  // namespace lemma::operators
