#include <array>

#include <fmt/format.h>

#include "operators/composition.h"
#include "operators/elementwise.h"
#include "operators/families.h"
#include "operators/narrow_types.h"
#include "operators/sizes.h"

// Integers that stand for reals: x = (q - zero point) * scale. Scale and zero point are scalars,
// vectors along one axis, or one for each block of elements along one axis.

namespace lemma::operators {
namespace {

using Types = Result<std::vector<TensorType>>;
using Compose = Result<std::vector<ValueId>>;

constexpr std::array quantize_attributes = {
    AttributeSpecification{"axis", AttributeKind::integer, "1"},
    AttributeSpecification{"block_size", AttributeKind::integer, "0"},
    AttributeSpecification{"output_dtype", AttributeKind::data_type, "optional"},
};
constexpr std::array dequantize_attributes = {
    AttributeSpecification{"axis", AttributeKind::integer, "1"},
    AttributeSpecification{"block_size", AttributeKind::integer, "0"},
};

bool per_block(const Instance& in) { return in.attributes.integer("block_size") != 0; }

bool per_tensor(const Instance& in) {
  return !per_block(in) && (in.rank(1) == 0 || element_count(in.shape(1)).is(1));
}

/// The axis has no meaning, and may be out of range, where there is one scale.
Result<Attributes> normalize_quantization(const Instance& in) {
  const auto rank = static_cast<std::int64_t>(in.rank(0));
  std::int64_t axis = in.attributes.integer("axis");
  if (per_tensor(in))
    axis = 1;
  else if (axis < -rank || axis >= rank)
    return bad_input(fmt::format("axis {} is out of range for {} axes", axis, rank));
  Attributes attributes = in.attributes;
  attributes.set("axis", axis < 0 ? axis + rank : axis);
  return attributes;
}

bool same_shape(const Instance& in, const Shape& a, const Shape& b) {
  bool same = a.size() == b.size();
  for (std::size_t i = 0; same && i < a.size(); ++i)
    same = a[i] == b[i] || in.assumes(ConstraintKind::equal, a[i], b[i]);
  return same;
}

/// Checks that scales have the shape of input 0, but for the axis, which has a scale for each block; the last
/// block may be shorter.
Result<void> check_blocks(const Instance& in) {
  const std::int64_t size = in.attributes.integer("block_size");
  if (size < 0) return bad_input(fmt::format("block_size is {}", size));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 1, in.rank(0), in.rank(0)));
  const auto blocked = static_cast<std::size_t>(in.attributes.integer("axis"));
  for (std::size_t axis = 0; axis < in.rank(0); ++axis) {
    const Dimension& elements = in.shape(0)[axis];
    LEMMA_RETURN_IF_ERROR(require_same_size(
        in, in.shape(1)[axis], axis == blocked ? ceil_div(elements, Dimension(size)) : elements,
        axis == blocked ? "scales and blocks" : "scales and elements"));
  }
  return {};
}

Result<void> check_scale(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_type(in, 1, TypeSet::real));
  const bool are_single =
      in.has(2) && per_tensor(in) && element_count(in.shape(2)).is(1) && in.rank(2) <= 1;
  if (in.has(2) && !are_single && !same_shape(in, in.shape(2), in.shape(1)))
    return bad_input(fmt::format("scale {} and zero point {} differ in shape", text(in.shape(1)),
                                 text(in.shape(2))));
  if (per_tensor(in)) return {};
  if (per_block(in)) return check_blocks(in);
  if (in.rank(1) != 1) return bad_input("scales for blocks without 'block_size'");
  const auto axis = static_cast<std::size_t>(in.attributes.integer("axis"));
  return require_same_size(in, in.shape(1)[0], in.shape(0)[axis], "scales and elements");
}

DataType quantized_type(const Instance& in) {
  if (in.has(2)) return in.type(2);
  return in.attributes.has("output_dtype") ? in.attributes.data_type("output_dtype") : DataType::u8;
}

Types infer_quantize(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_type(in, 0, TypeSet::numeric));
  LEMMA_RETURN_IF_ERROR(check_scale(in));
  const DataType type = quantized_type(in);
  const bool is_known = is_integer(type) ? bits(type) <= 16 : is_narrow(type);
  if (!is_known || type == DataType::f8e8m0)
    return unsupported(fmt::format("quantization to {}", name(type)));
  return std::vector<TensorType>{{type, in.shape(0)}};
}

Types infer_dequantize(const Instance& in) {
  if (!is_narrow(in.type(0))) LEMMA_RETURN_IF_ERROR(require_type(in, 0, TypeSet::integer));
  LEMMA_RETURN_IF_ERROR(check_scale(in));
  if (in.has(2) && in.type(2) != in.type(0))
    return bad_input(
        fmt::format("the zero point is {}, not {}", name(in.type(2)), name(in.type(0))));
  return std::vector<TensorType>{{in.type(1), in.shape(0)}};
}

/// The element of the scale or zero point that belongs to an element.
Expression along_axis(DefinitionBuilder& d, const Instance& in, std::uint32_t input,
                      const std::vector<Expression>& axes) {
  const auto axis = static_cast<std::size_t>(in.attributes.integer("axis"));
  std::vector<Expression> indices;
  if (per_tensor(in)) {
    indices.assign(in.rank(input), d.integer(0));
  } else if (per_block(in)) {
    indices = axes;
    indices[axis] = d.floor_div(axes[axis], Dimension(in.attributes.integer("block_size")));
  } else {
    indices = {axes[axis]};
  }
  return d.read(input, in.type(input), std::move(indices));
}

bool is_narrow_float(DataType type) { return is_narrow(type) && !is_narrow_integer(type); }

/// An element as a number: integers as i64, others in the type of the scale.
Expression number_of(DefinitionBuilder& d, Expression element, DataType real) {
  const DataType type = element.type();
  const Expression number = is_narrow(type) ? number_of_code(d, element) : element;
  return d.cast(number, is_narrow_float(type) ? real : DataType::i64);
}

/// Saturation is done in reals, which hold all results exactly.
Definition define_quantize(const Instance& in) {
  DefinitionBuilder d;
  const DataType real = in.type(1), type = quantized_type(in);
  const std::vector<Expression> axes = d.variables(in.shape(0));
  const Expression x = d.cast(d.read(0, in.type(0), axes), real);
  const Expression quotient = x / along_axis(d, in, 1, axes);
  if (is_narrow_float(type)) {
    const Expression value =
        in.has(2) ? quotient + number_of(d, along_axis(d, in, 2, axes), real) : quotient;
    d.output(axes, code_of_number(d, value, type, true));
    return std::move(d).finish();
  }
  Expression value = d.apply(ScalarFunction::round, quotient);
  if (in.has(2)) {
    const Expression zero = along_axis(d, in, 2, axes);
    value = value + d.cast(is_narrow(type) ? number_of_code(d, zero) : zero, real);
  }
  const double span = static_cast<double>(std::int64_t{1} << bits(type));
  const double low = is_narrow(type)             ? least_number(type)
                     : is_unsigned_integer(type) ? 0
                                                 : -span / 2;
  value = minimum(maximum(value, d.real(low, real)), d.real(low + span - 1, real));
  d.output(axes, is_narrow(type) ? code_of_number(d, value, type, true) : d.cast(value, type));
  return std::move(d).finish();
}

Definition define_dequantize(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = d.variables(in.shape(0));
  Expression value = number_of(d, d.read(0, in.type(0), axes), in.type(1));
  if (in.has(2)) value = value - number_of(d, along_axis(d, in, 2, axes), in.type(1));
  d.output(axes, d.cast(value, in.type(1)) * along_axis(d, in, 1, axes));
  return std::move(d).finish();
}

/// `saturate` only concerns floating-point types of 8 bits.
Result<ImportedCall> import_quantization(const OnnxCall& call, ImportedCall imported) {
  if (call.attributes.has("precision") && call.attributes.integer("precision") != 0)
    return unsupported("attribute 'precision' is not supported");
  if (call.attributes.has("saturate") && call.attributes.integer("saturate") == 0) {
    const bool narrow = call.inputs.size() > 2 && is_narrow(call.inputs[2].type.data_type);
    if (narrow || call.attributes.has("output_dtype"))
      return unsupported("a quantization that does not saturate");
  }
  if (call.attributes.has("output_dtype") && call.attributes.integer("output_dtype") == 0)
    imported.attributes.erase("output_dtype");
  return imported;
}

Result<ExportedCall> export_quantization(const Instance& in, int opset, ExportedCall exported) {
  if (opset < 13 && !per_tensor(in))
    return unsupported(fmt::format("operator set {} has no scale for each axis", opset));
  if (opset < 21 && per_block(in))
    return unsupported(fmt::format("operator set {} has no scale for each block", opset));
  if (opset < 21) exported.attributes.erase("block_size");
  if (opset < 13) exported.attributes.erase("axis");
  if (opset < 21 && exported.attributes.has("output_dtype"))
    return unsupported(fmt::format("operator set {} has no 'output_dtype'", opset));
  return exported;
}

template <StaticName name>
inline constexpr std::array quantization_onnx = {OnnxMapping{.name = name.view(),
                                                             .since = 10,
                                                             .import_hook = import_quantization,
                                                             .export_hook = export_quantization}};

// ---- DynamicQuantizeLinear ---------------------------------------------------------------------

Types infer_dynamic(const Instance& in) {
  if (in.type(0) != DataType::f32)
    return bad_input(fmt::format("input 0 is {}, not f32", name(in.type(0))));
  return std::vector<TensorType>{
      {DataType::u8, in.shape(0)}, {DataType::f32, Shape{}}, {DataType::u8, Shape{}}};
}

/// The range of the elements and 0 is mapped to 0 .. 255; the scale of nothing but zeros is 1.
Compose compose_dynamic(Graph& graph, const Instance&, std::span<const ValueId> inputs) {
  Composer c(graph);
  const ValueId x = inputs[0], zero = c.scalar(0, DataType::f32);
  const Attributes scalar = {{"keepdims", 0}};
  const ValueId high = c("Max", {c("ReduceMax", {x}, scalar), zero});
  const ValueId low = c("Min", {c("ReduceMin", {x}, scalar), zero});
  const ValueId step = c.divide(c.subtract(high, low), c.scalar(255, DataType::f32));
  const ValueId scale = c("Where", {c("Equal", {step, zero}), c.scalar(1, DataType::f32), step});
  const ValueId start = c.divide(c.subtract(zero, low), scale);
  const ValueId rounded = c("Round", {c("Clip", {start}, {{"max", 255.0}, {"min", 0.0}})});
  const ValueId zero_point = c.cast(rounded, DataType::u8);
  return c.outputs({c("QuantizeLinear", {x, scale, zero_point}), scale, zero_point});
}

// ---- QLinearMatMul -----------------------------------------------------------------------------

/// Inputs: a, its scale and zero point, b likewise, scale and zero point of the result.
Types infer_qlinear_matmul(const Instance& in) {
  for (const std::size_t i : {1, 2, 4, 5, 6, 7})
    if (!element_count(in.shape(i)).is(1)) return unsupported("several scales or zero points");
  for (const std::size_t i : {1, 4, 6}) LEMMA_RETURN_IF_ERROR(require_type(in, i, TypeSet::real));
  const std::array factors = {in.inputs[0], in.inputs[3]};
  const Attributes none;
  LEMMA_ASSIGN_OR_RETURN(auto types, infer_types(record(operator_named("MatMulInteger")),
                                                 Instance{factors, none, 1, in.constraints}));
  types[0].data_type = in.type(7);
  return types;
}

Compose compose_qlinear_matmul(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  auto scalar = [&](std::size_t i) {
    return in.rank(i) == 0 ? inputs[i] : c("Reshape", {inputs[i]}, {{"shape", Shape{}}});
  };
  const ValueId product = c("MatMulInteger", {inputs[0], inputs[3], scalar(2), scalar(5)});
  const ValueId scale = c.multiply(scalar(1), scalar(4));
  const ValueId value = c.multiply(c.cast(product, in.type(1)), scale);
  return c.outputs({c("QuantizeLinear", {value, scalar(6), scalar(7)})});
}

constexpr std::array qlinear_matmul_examples = {
    OperatorExample{"u8[M, K]; f32[]; u8[]; u8[K, N]; f32[]; u8[]; f32[]; u8[]"},
    OperatorExample{"i8[2, 3, K]; f32[1]; i8[1]; i8[2, K, 4]; f32[1]; i8[1]; f32[1]; i8[1]"},
};

constexpr std::array quantization_records = {
    OperatorRecord{.name = "DequantizeLinear",
                   .summary = "(x - zero point) * scale",
                   .inputs = {2, 3},
                   .attributes = dequantize_attributes,
                   .flags = not_folded,
                   .infer = infer_dequantize,
                   .define = define_dequantize,
                   .normalize = normalize_quantization,
                   .onnx = quantization_onnx<"DequantizeLinear">},
    OperatorRecord{.name = "DynamicQuantizeLinear",
                   .summary = "x as u8, with the scale and zero point that its range asks for",
                   .outputs = {3, 3},
                   .infer = infer_dynamic,
                   .compose = compose_dynamic,
                   .onnx = same_in_onnx<"DynamicQuantizeLinear", 11>},
    OperatorRecord{.name = "QLinearMatMul",
                   .summary = "matrix product of quantized matrices, quantized",
                   .inputs = {8, 8},
                   .infer = infer_qlinear_matmul,
                   .compose = compose_qlinear_matmul,
                   .onnx = same_in_onnx<"QLinearMatMul", 10>,
                   .examples = qlinear_matmul_examples},
    OperatorRecord{.name = "QuantizeLinear",
                   .summary = "round(x / scale) + zero point, brought into the range of the type",
                   .inputs = {2, 3},
                   .attributes = quantize_attributes,
                   .flags = not_folded,
                   .infer = infer_quantize,
                   .define = define_quantize,
                   .normalize = normalize_quantization,
                   .onnx = quantization_onnx<"QuantizeLinear">},
};
static_assert(is_complete(quantization_records));

}  // namespace

std::span<const OperatorRecord> quantization() { return quantization_records; }

}  // namespace lemma::operators
