#include <array>

#include <fmt/format.h>

#include "operators/elementwise.h"
#include "operators/families.h"

namespace lemma::operators {
namespace {

using Function = ScalarFunction;
using Operands = std::vector<Expression>;

Expression identity(DefinitionBuilder&, const Instance&, Operands x) { return x[0]; }

// ---- Sign and rounding: scalar functions of reals, arithmetic on integers ----------------------

Expression negate(DefinitionBuilder& d, const Instance&, Operands x) {
  return is_real(x[0].type()) ? d.apply(Function::negate, x[0]) : d.integer(0, x[0].type()) - x[0];
}

Expression absolute(DefinitionBuilder& d, const Instance&, Operands x) {
  if (is_real(x[0].type())) return d.apply(Function::absolute, x[0]);
  if (is_unsigned_integer(x[0].type())) return x[0];
  return maximum(x[0], d.integer(0, x[0].type()) - x[0]);
}

Expression sign(DefinitionBuilder& d, const Instance&, Operands x) {
  const DataType type = x[0].type();
  if (is_real(type)) return d.apply(Function::sign, x[0]);
  const Expression zero = d.integer(0, type), unit = d.integer(1, type);
  const Expression negative = is_unsigned_integer(type) ? zero : zero - unit;
  return d.select(zero < x[0], unit, d.select(x[0] < zero, negative, zero));
}

// ---- Classification ----------------------------------------------------------------------------

Result<std::vector<TensorType>> infer_classification(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_type(in, 0, TypeSet::real));
  return std::vector<TensorType>{{DataType::boolean, in.shape(0)}};
}

constexpr std::array is_inf_attributes = {
    AttributeSpecification{"detect_negative", AttributeKind::integer, "1"},
    AttributeSpecification{"detect_positive", AttributeKind::integer, "1"},
};

Expression is_inf(DefinitionBuilder& d, const Instance& in, Operands x) {
  const Expression infinite = d.apply(Function::is_infinite, x[0]), zero = d.real(0, x[0].type());
  const bool negative = in.attributes.integer("detect_negative") != 0;
  const bool positive = in.attributes.integer("detect_positive") != 0;
  if (negative && positive) return infinite;
  if (negative) return infinite && x[0] < zero;
  if (positive) return infinite && zero < x[0];
  return d.integer(0, DataType::boolean);
}

template <StaticName name, ElementBody body, int since>
constexpr OperatorRecord classification_record(
    std::string_view summary, std::span<const AttributeSpecification> attributes = {}) {
  OperatorRecord result = unary_record<name, TypeSet::real, body, since>(summary, attributes);
  result.infer = infer_classification;
  return result;
}

// ---- Dropout -----------------------------------------------------------------------------------
//
// Inference only: nothing is dropped, so the ratio has no effect and is not kept.

Result<std::vector<TensorType>> infer_dropout(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_type(in, 0, TypeSet::real));
  std::vector<TensorType> types = {in.inputs[0]};
  if (in.output_count == 2) types.push_back({DataType::boolean, in.shape(0)});
  return types;
}

Definition define_dropout(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = d.variables(in.shape(0));
  d.output(axes, d.read(0, in.type(0), axes));
  if (in.output_count == 2) d.output(axes, d.integer(1, DataType::boolean));
  return std::move(d).finish();
}

/// Whether input `input` of the call is absent or a constant zero (false).
bool is_zero(const OnnxCall& call, std::size_t input) {
  if (input >= call.inputs.size() || !call.inputs[input].present()) return true;
  const Constant* constant = call.inputs[input].constant;
  return constant != nullptr && constant->reals() == Reals{0};
}

Result<ImportedCall> import_dropout(const OnnxCall& call, ImportedCall imported) {
  const bool ratio_is_zero = call.inputs.size() > 1 && call.inputs[1].present() && is_zero(call, 1);
  if (!ratio_is_zero && !is_zero(call, 2)) return unsupported("dropout in training mode");
  if (call.opset < 10 && call.output_count > 1) return unsupported("a mask of a real type");
  if (call.opset < 7 &&
      (!call.attributes.has("is_test") || call.attributes.integer("is_test") == 0))
    return unsupported("dropout in training mode");
  imported.inputs.resize(1);
  return imported;
}

Result<ExportedCall> export_dropout(const Instance& in, int opset, ExportedCall exported) {
  if (opset < 10 && in.output_count == 2)
    return unsupported(fmt::format("operator set {} has no mask of booleans", opset));
  if (opset < 7) exported.attributes.set("is_test", std::int64_t{1});
  return exported;
}

constexpr std::array dropout_onnx = {OnnxMapping{
    .name = "Dropout", .since = 6, .import_hook = import_dropout, .export_hook = export_dropout}};

constexpr std::array unary_records = {
    unary_record<"Abs", TypeSet::numeric, absolute>("absolute value"),
    unary_record<"Acos", TypeSet::real, apply_scalar<Function::acos>, 7>("inverse cosine"),
    unary_record<"Acosh", TypeSet::real, apply_scalar<Function::acosh>, 9>(
        "inverse hyperbolic cosine"),
    unary_record<"Asin", TypeSet::real, apply_scalar<Function::asin>, 7>("inverse sine"),
    unary_record<"Asinh", TypeSet::real, apply_scalar<Function::asinh>, 9>(
        "inverse hyperbolic sine"),
    unary_record<"Atan", TypeSet::real, apply_scalar<Function::atan>, 7>("inverse tangent"),
    unary_record<"Atanh", TypeSet::real, apply_scalar<Function::atanh>, 9>(
        "inverse hyperbolic tangent"),
    unary_record<"Ceil", TypeSet::real, apply_scalar<Function::ceil>>(
        "smallest whole number not below x"),
    unary_record<"Cos", TypeSet::real, apply_scalar<Function::cos>, 7>("cosine"),
    unary_record<"Cosh", TypeSet::real, apply_scalar<Function::cosh>, 9>("hyperbolic cosine"),
    OperatorRecord{.name = "Dropout",
                   .summary = "x, and a mask of what is kept (everything: inference only)",
                   .outputs = {1, 2},
                   .infer = infer_dropout,
                   .define = define_dropout,
                   .onnx = dropout_onnx},
    unary_record<"Erf", TypeSet::real, apply_scalar<Function::erf>, 9>("Gauss error function"),
    unary_record<"Exp", TypeSet::real, apply_scalar<Function::exp>>("e to the power of x"),
    unary_record<"Floor", TypeSet::real, apply_scalar<Function::floor>>(
        "greatest whole number not above x"),
    unary_record<"Identity", TypeSet::any, identity>("x", data_movement | view | linear),
    classification_record<"IsInf", is_inf, 10>("whether x is an infinity", is_inf_attributes),
    classification_record<"IsNaN", apply_scalar<Function::is_nan>, 9>("whether x is not a number"),
    unary_record<"Log", TypeSet::real, apply_scalar<Function::log>>("natural logarithm"),
    unary_record<"Neg", TypeSet::numeric, negate>("-x", linear),
    unary_record<"Reciprocal", TypeSet::real, apply_scalar<Function::reciprocal>>("1 / x"),
    unary_record<"Round", TypeSet::real, apply_scalar<Function::round>, 11>(
        "nearest whole number, the even one of two"),
    unary_record<"Sign", TypeSet::numeric, sign, 9>("-1, 0 or 1"),
    unary_record<"Sin", TypeSet::real, apply_scalar<Function::sin>, 7>("sine"),
    unary_record<"Sinh", TypeSet::real, apply_scalar<Function::sinh>, 9>("hyperbolic sine"),
    unary_record<"Sqrt", TypeSet::real, apply_scalar<Function::sqrt>>("square root"),
    unary_record<"Tan", TypeSet::real, apply_scalar<Function::tan>, 7>("tangent"),
    unary_record<"Tanh", TypeSet::real, apply_scalar<Function::tanh>>("hyperbolic tangent"),
};
static_assert(is_complete(unary_records));

}  // namespace

std::span<const OperatorRecord> unary() { return unary_records; }

}  // namespace lemma::operators
