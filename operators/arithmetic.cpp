#include <array>

#include <fmt/format.h>

#include "operators/elementwise.h"
#include "operators/families.h"

namespace lemma::operators {
namespace {

using Kind = ExpressionKind;
using Operands = std::vector<Expression>;

template <Kind kind>
Expression binary(DefinitionBuilder& d, const Instance&, Operands x) {
  return d.binary(kind, x[0], x[1]);
}

// ---- Any number of operands -------------------------------------------------------------------

template <Kind kind>
Expression fold(DefinitionBuilder& d, const Instance&, Operands x) {
  Expression result = x[0];
  for (std::size_t i = 1; i < x.size(); ++i) result = d.binary(kind, result, x[i]);
  return result;
}

Expression mean(DefinitionBuilder& d, const Instance& in, Operands x) {
  const auto count = static_cast<double>(x.size());
  return fold<Kind::add>(d, in, std::move(x)) / d.real(count, in.type(0));
}

template <StaticName name, TypeSet types, ElementBody body>
constexpr OperatorRecord variadic_record(std::string_view summary, std::uint32_t flags = no_flags) {
  OperatorRecord result = unary_record<name, types, body>(summary, flags);
  result.inputs = {1, -1};
  return result;
}

// ---- Add: also ONNX's Sum of two --------------------------------------------------------------

Result<ImportedCall> import_sum_of_two(const OnnxCall& call, ImportedCall imported) {
  if (call.inputs.size() != 2) return unsupported("a sum of other than two operands");
  return imported;
}

constexpr std::array add_onnx = {
    broadcast_in_onnx<"Add">[0], broadcast_in_onnx<"Add">[1], OnnxMapping {
      .name = "Sum", .since = 6, .import_hook = import_sum_of_two, .import_only = true
    }};

constexpr OperatorRecord add_record() {
  OperatorRecord result =
      binary_record<"Add", TypeSet::numeric, binary<Kind::add>>("a + b", commutative);
  result.onnx = add_onnx;
  return result;
}

// ---- Mod --------------------------------------------------------------------------------------

constexpr std::array mod_attributes = {
    AttributeSpecification{"fmod", AttributeKind::integer, "0"},
};

Expression mod(DefinitionBuilder& d, const Instance& in, Operands x) {
  const bool as_dividend = in.attributes.integer("fmod") != 0;
  return d.binary(as_dividend ? Kind::truncated_modulo : Kind::floor_modulo, x[0], x[1]);
}

Result<ExportedCall> export_mod(const Instance& in, int opset, ExportedCall exported) {
  if (opset < 28 && in.attributes.integer("fmod") == 0 && is_real(in.type(0)))
    return unsupported(fmt::format("operator set {} has no such remainder of reals", opset));
  return exported;
}

constexpr std::array mod_onnx = {
    OnnxMapping{.name = "Mod", .since = 10, .export_hook = export_mod}};

constexpr OperatorRecord mod_record() {
  OperatorRecord result = binary_record<"Mod", TypeSet::numeric, mod, 10>(
      "remainder with the sign of b, or with fmod=1 the sign of a");
  result.attributes = mod_attributes;
  result.onnx = mod_onnx;
  return result;
}

// ---- Pow --------------------------------------------------------------------------------------

Result<std::vector<TensorType>> infer_pow(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_type(in, 0, TypeSet::numeric));
  LEMMA_RETURN_IF_ERROR(require_type(in, 1, TypeSet::numeric));
  LEMMA_ASSIGN_OR_RETURN(Shape shape, broadcast_inputs(in));
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}

/// The result has the type of the base; an integer to a real power is computed as a real.
Expression power(DefinitionBuilder& d, const Instance& in, Operands x) {
  const DataType type = is_real(in.type(1)) && !is_real(in.type(0)) ? in.type(1) : in.type(0);
  return d.cast(d.binary(Kind::power, d.cast(x[0], type), d.cast(x[1], type)), in.type(0));
}

constexpr OperatorRecord pow_record() {
  OperatorRecord result = binary_record<"Pow", TypeSet::numeric, power>("a to the power of b");
  result.infer = infer_pow;
  return result;
}

// ---- PRelu ------------------------------------------------------------------------------------

Result<std::vector<TensorType>> infer_prelu(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::numeric));
  LEMMA_ASSIGN_OR_RETURN(const bool fits, broadcasts_to(in, in.shape(1), in.shape(0)));
  if (!fits)
    return bad_input(
        fmt::format("slope {} cannot be broadcast to {}", text(in.shape(1)), text(in.shape(0))));
  return infer_same(in);
}

Expression prelu(DefinitionBuilder& d, const Instance&, Operands x) {
  return d.select(x[0] < d.constant(0, x[0].type()), x[1] * x[0], x[0]);
}

/// Before operator set 7 a vector of slopes belonged to axis 1.
Result<ImportedCall> import_early_prelu(const OnnxCall& call, ImportedCall imported) {
  if (call.inputs.size() != 2 || !call.inputs[0].type.shape || !call.inputs[1].type.shape)
    return unsupported("operands of unknown rank");
  if (!element_count(*call.inputs[1].type.shape).is(1) && call.inputs[0].type.shape->size() != 2)
    return unsupported("a slope for each channel");
  return imported;
}

Result<ExportedCall> export_early_prelu(const Instance& in, int opset, ExportedCall exported) {
  if (element_count(in.shape(1)).is(1) || (in.rank(0) == 2 && in.rank(1) == 1)) return exported;
  return unsupported(fmt::format("operator set {} has a slope for each channel only", opset));
}

constexpr std::array prelu_onnx = {OnnxMapping{.name = "PRelu", .since = 7},
                                   OnnxMapping{.name = "PRelu",
                                               .since = 1,
                                               .until = 6,
                                               .import_hook = import_early_prelu,
                                               .export_hook = export_early_prelu}};

constexpr OperatorRecord prelu_record() {
  OperatorRecord result =
      binary_record<"PRelu", TypeSet::numeric, prelu>("x, where negative times a slope");
  result.infer = infer_prelu;
  result.onnx = prelu_onnx;
  return result;
}

// ---- BitShift ---------------------------------------------------------------------------------

constexpr std::array bit_shift_attributes = {
    AttributeSpecification{"direction", AttributeKind::string},
};

Result<std::vector<TensorType>> infer_bit_shift(const Instance& in) {
  const std::string& direction = in.attributes.string("direction");
  if (direction != "LEFT" && direction != "RIGHT")
    return bad_input(fmt::format("direction '{}' is neither LEFT nor RIGHT", direction));
  return infer_elementwise(in, TypeSet::integer);
}

/// Shifting by the width or more, or by a negative number, leaves nothing but copies of the sign.
Expression bit_shift(DefinitionBuilder& d, const Instance& in, Operands x) {
  const DataType type = in.type(0);
  const bool left = in.attributes.string("direction") == "LEFT";
  const Expression zero = d.integer(0, type);
  const bool extends = !left && !is_unsigned_integer(type);
  const Expression rest = extends ? d.select(x[0] < zero, d.integer(-1, type), zero) : zero;
  return d.select(zero <= x[1] && x[1] < d.integer(bits(type), type),
                  d.binary(left ? Kind::shift_left : Kind::shift_right, x[0], x[1]), rest);
}

constexpr OperatorRecord bit_shift_record() {
  OperatorRecord result = binary_record<"BitShift", TypeSet::integer, bit_shift, 11>(
      "bits of a moved by b places to the left or right");
  result.attributes = bit_shift_attributes;
  result.infer = infer_bit_shift;
  return result;
}

constexpr std::array arithmetic_records = {
    add_record(),
    bit_shift_record(),
    binary_record<"Div", TypeSet::numeric, binary<Kind::divide>>(
        "a / b; integers truncate toward zero"),
    variadic_record<"Max", TypeSet::numeric, fold<Kind::maximum>>("largest of the operands",
                                                                  commutative),
    variadic_record<"Mean", TypeSet::real, mean>("mean of the operands", commutative),
    variadic_record<"Min", TypeSet::numeric, fold<Kind::minimum>>("smallest of the operands",
                                                                  commutative),
    mod_record(),
    binary_record<"Mul", TypeSet::numeric, binary<Kind::multiply>>("a * b", commutative | linear),
    prelu_record(),
    pow_record(),
    binary_record<"Sub", TypeSet::numeric, binary<Kind::subtract>>("a - b"),
    variadic_record<"Sum", TypeSet::numeric, fold<Kind::add>>("sum of the operands", commutative),
};
static_assert(is_complete(arithmetic_records));

}  // namespace

std::span<const OperatorRecord> arithmetic() { return arithmetic_records; }

}  // namespace lemma::operators
