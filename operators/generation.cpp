#include <array>
#include <cmath>

#include <fmt/format.h>

#include "operators/composition.h"
#include "operators/elementwise.h"
#include "operators/families.h"

// Tensors made from sizes and positions: constants of a shape, ranges, diagonals, triangles.

namespace lemma::operators {
namespace {

// ---- ConstantOfShape ---------------------------------------------------------------------------

constexpr std::array constant_of_shape_attributes = {
    AttributeSpecification{"data_type", AttributeKind::data_type, "f32"},
    AttributeSpecification{"shape", AttributeKind::dimensions, "required",
                           AttributeRole::output_shape},
    AttributeSpecification{"value", AttributeKind::real, "0.0"},
};

Result<std::vector<TensorType>> infer_constant_of_shape(const Instance& in) {
  const DataType type = in.attributes.data_type("data_type");
  if (!is_computable(type) || is_narrow(type))
    return unsupported(fmt::format("elements of type {}", name(type)));
  if (!is_real(type) && !in.attributes.is_whole("value"))
    return bad_input(fmt::format("{} is not a value of type {}", text(*in.attributes.find("value")),
                                 name(type)));
  return std::vector<TensorType>{{type, in.attributes.dimensions("shape")}};
}

Definition define_constant_of_shape(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = d.variables(in.attributes.dimensions("shape"));
  d.output(axes, d.constant(in.attributes.real("value"), in.attributes.data_type("data_type")));
  return std::move(d).finish();
}

Result<ImportedCall> import_constant_of_shape(const OnnxCall& call, ImportedCall imported) {
  if (call.tensors.empty()) return imported;
  const Constant& value = call.tensors.front().second;
  if (!is_computable(value.type().data_type) || value.element_count() != 1)
    return unsupported(fmt::format("a value of type {}", text(value.type())));
  const double element = value.reals().front();
  if (!is_real(value.type().data_type) && std::abs(element) > 0x1p53)
    return unsupported("a value too large");
  imported.attributes.set("data_type", value.type().data_type);
  imported.attributes.set("value", element);
  return imported;
}

Result<ExportedCall> export_constant_of_shape(const Instance& in, int, ExportedCall exported) {
  exported.attributes = {};
  exported.tensors.emplace_back("value", constant_of_value(in.attributes.data_type("data_type"),
                                                           in.attributes.number("value"), {1}));
  return exported;
}

constexpr std::array constant_of_shape_parameters = {OnnxParameter{"shape", 0, 1}};
constexpr std::array constant_of_shape_onnx = {
    OnnxMapping{.name = "ConstantOfShape",
                .since = 9,
                .parameters = constant_of_shape_parameters,
                .import_hook = import_constant_of_shape,
                .export_hook = export_constant_of_shape}};

// ---- Range of integers -------------------------------------------------------------------------

constexpr std::array range_attributes = {
    AttributeSpecification{"data_type", AttributeKind::data_type, "i64"},
    AttributeSpecification{"delta", AttributeKind::integer, "1"},
    AttributeSpecification{"limit", AttributeKind::dimension},
    AttributeSpecification{"start", AttributeKind::dimension, "0"},
};

Result<std::vector<TensorType>> infer_range(const Instance& in) {
  const DataType type = in.attributes.data_type("data_type");
  const std::int64_t delta = in.attributes.integer("delta");
  if (!is_integer(type)) return bad_input(fmt::format("{} is not an integer type", name(type)));
  if (delta == 0 || delta == INT64_MIN) return bad_input(fmt::format("a step of {}", delta));
  Dimension length = in.attributes.dimension("limit") - in.attributes.dimension("start");
  if (delta < 0) length = Dimension(0) - length;
  const std::int64_t step = std::abs(delta);
  Dimension count = floor_div(length + Dimension(step - 1), Dimension(step));
  if (lower_bound(count).value_or(-1) < 0) count = maximum(count, Dimension(0));
  return std::vector<TensorType>{{type, Shape{std::move(count)}}};
}

Definition define_range(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_range));
  const Expression value =
      axes[0] * d.integer(in.attributes.integer("delta")) + in.attributes.dimension("start");
  d.output(axes, d.cast(value, in.attributes.data_type("data_type")));
  return std::move(d).finish();
}

Result<ImportedCall> import_range(const OnnxCall& call, ImportedCall imported) {
  const DataType type = call.inputs[0].type.data_type;
  if (!is_integer(type)) return unsupported("a range of reals");
  imported.attributes.set("data_type", type);
  return imported;
}

/// ONNX tells the type by the operands. (Parameters are written as i64.)
Result<ExportedCall> export_range(const Instance& in, int opset, ExportedCall exported) {
  const DataType type = in.attributes.data_type("data_type");
  exported.attributes.erase("data_type");
  if (type == DataType::i64) return exported;
  for (OnnxInput& input : exported.inputs) {
    const Dimension& value = std::get<OnnxIntegersInput>(input).elements.front();
    if (!value.is_constant())
      return unsupported(
          fmt::format("operator set {} has no symbolic range of {}", opset, name(type)));
    input = constant_of_value(type, static_cast<double>(value.offset()));
  }
  return exported;
}

constexpr std::array range_parameters = {OnnxParameter{"start", 0, 1}, OnnxParameter{"limit", 1, 1},
                                         OnnxParameter{"delta", 2, 1}};
constexpr std::array range_onnx = {OnnxMapping{.name = "Range",
                                               .since = 11,
                                               .parameters = range_parameters,
                                               .import_hook = import_range,
                                               .export_hook = export_range}};

// ---- Range of reals ----------------------------------------------------------------------------

constexpr std::array range_real_attributes = {
    AttributeSpecification{"data_type", AttributeKind::data_type, "f32"},
    AttributeSpecification{"delta", AttributeKind::real, "1.0", AttributeRole::number},
    AttributeSpecification{"limit", AttributeKind::real, "required", AttributeRole::number},
    AttributeSpecification{"start", AttributeKind::real, "0.0", AttributeRole::number},
};

Result<std::vector<TensorType>> infer_range_real(const Instance& in) {
  const DataType type = in.attributes.data_type("data_type");
  const double length = in.attributes.number("limit") - in.attributes.number("start");
  const double count = std::max(std::ceil(length / in.attributes.number("delta")), 0.0);
  if (!is_real(type)) return bad_input(fmt::format("{} is not a real type", name(type)));
  if (!(count < 0x1p53)) return bad_input("the range has no end");
  return std::vector<TensorType>{{type, Shape{static_cast<std::int64_t>(count)}}};
}

Definition define_range_real(const Instance& in) {
  DefinitionBuilder d;
  const DataType type = in.attributes.data_type("data_type");
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_range_real));
  const Expression step = d.real(in.attributes.real("delta"), type);
  d.output(axes, d.real(in.attributes.real("start"), type) + d.cast(axes[0], type) * step);
  return std::move(d).finish();
}

Result<ImportedCall> import_range_real(const OnnxCall& call, ImportedCall imported) {
  if (!is_real(call.inputs[0].type.data_type)) return unsupported("a range of integers");
  imported.attributes.set("data_type", call.inputs[0].type.data_type);
  return imported;
}

Result<ExportedCall> export_range_real(const Instance& in, int, ExportedCall exported) {
  exported.attributes = {};
  exported.inputs.clear();
  for (const char* name : {"start", "limit", "delta"})
    exported.inputs.emplace_back(
        constant_of_value(in.attributes.data_type("data_type"), in.attributes.number(name)));
  return exported;
}

constexpr std::array range_real_onnx = {OnnxMapping{.name = "Range",
                                                    .since = 11,
                                                    .parameters = range_parameters,
                                                    .import_hook = import_range_real,
                                                    .export_hook = export_range_real}};

// ---- EyeLike and Trilu -------------------------------------------------------------------------

constexpr std::array eye_like_attributes = {
    AttributeSpecification{"dtype", AttributeKind::data_type, "optional"},
    AttributeSpecification{"k", AttributeKind::integer, "0"},
};

Result<std::vector<TensorType>> infer_eye_like(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 2, 2));
  const DataType type = in.attributes.has("dtype") ? in.attributes.data_type("dtype") : in.type(0);
  if (!is_computable(type) || is_narrow(type))
    return unsupported(fmt::format("elements of type {}", name(type)));
  return std::vector<TensorType>{{type, in.shape(0)}};
}

Definition define_eye_like(const Instance& in) {
  DefinitionBuilder d;
  const DataType type = (*infer_eye_like(in))[0].data_type;
  const std::vector<Expression> axes = d.variables(in.shape(0));
  const Expression diagonal = axes[0] + d.integer(in.attributes.integer("k"));
  d.output(axes, d.select(diagonal == axes[1], d.constant(1, type), d.constant(0, type)));
  return std::move(d).finish();
}

constexpr std::array trilu_attributes = {
    AttributeSpecification{"k", AttributeKind::integer, "0"},
    AttributeSpecification{"upper", AttributeKind::integer, "1"},
};

Result<std::vector<TensorType>> infer_trilu(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 2));
  return infer_same(in);
}

Definition define_trilu(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = d.variables(in.shape(0));
  const Expression row = axes[axes.size() - 2], column = axes.back();
  const Expression diagonal = row + d.integer(in.attributes.integer("k"));
  const bool upper = in.attributes.integer("upper") != 0;
  const Expression kept = upper ? diagonal <= column : column <= diagonal;
  d.output(axes, d.select(kept, d.read(0, in.type(0), axes), d.constant(0, in.type(0))));
  return std::move(d).finish();
}

constexpr std::array trilu_parameters = {OnnxParameter{"k", 1, 1}};
constexpr std::array trilu_onnx = {
    OnnxMapping{.name = "Trilu", .since = 14, .parameters = trilu_parameters}};

constexpr std::array generation_records = {
    OperatorRecord{.name = "ConstantOfShape",
                   .summary = "one value everywhere",
                   .inputs = {0, 0},
                   .attributes = constant_of_shape_attributes,
                   .infer = infer_constant_of_shape,
                   .define = define_constant_of_shape,
                   .onnx = constant_of_shape_onnx},
    OperatorRecord{.name = "EyeLike",
                   .summary = "ones on a diagonal, zeros elsewhere",
                   .attributes = eye_like_attributes,
                   .infer = infer_eye_like,
                   .define = define_eye_like,
                   .onnx = same_in_onnx<"EyeLike", 9>},
    OperatorRecord{.name = "Range",
                   .summary = "the integers start, start + delta, ... below (or above) a limit",
                   .inputs = {0, 0},
                   .attributes = range_attributes,
                   .infer = infer_range,
                   .define = define_range,
                   .onnx = range_onnx},
    OperatorRecord{.name = "RangeReal",
                   .summary = "the reals start, start + delta, ... below (or above) a limit",
                   .inputs = {0, 0},
                   .attributes = range_real_attributes,
                   .flags = sized_by_reals,
                   .infer = infer_range_real,
                   .define = define_range_real,
                   .onnx = range_real_onnx},
    OperatorRecord{.name = "Trilu",
                   .summary = "zero below (or above) a diagonal of the last two axes",
                   .attributes = trilu_attributes,
                   .flags = linear,
                   .infer = infer_trilu,
                   .define = define_trilu,
                   .onnx = trilu_onnx},
};
static_assert(is_complete(generation_records));

}  // namespace

std::span<const OperatorRecord> generation() { return generation_records; }

}  // namespace lemma::operators
