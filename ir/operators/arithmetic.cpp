#include <array>

#include <fmt/format.h>

#include "ir/operators/elementwise.h"
#include "ir/operators/families.h"

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
constexpr OperatorRecord variadic_record(std::string_view summary,
                                         std::uint32_t flags = no_flags) {
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
    OnnxMapping{.name = "Add", .since = 7},
    OnnxMapping{.name = "Sum", .since = 6, .import_hook = import_sum_of_two, .import_only = true}};

constexpr OperatorRecord add_record() {
  OperatorRecord result =
      binary_record<"Add", TypeSet::numeric, binary<Kind::add>>("a + b", commutative | associative);
  result.onnx = add_onnx;
  return result;
}

// ---- Mod --------------------------------------------------------------------------------------

constexpr std::array mod_attributes = {
    AttributeSpecification{"fmod", AttributeKind::integer, "0"},
};

Result<std::vector<TensorType>> infer_mod(const Instance& in) {
  if (in.attributes.integer("fmod") == 0 && is_real(in.type(0)))
    return bad_input("real operands need fmod=1");
  return infer_elementwise(in, TypeSet::numeric);
}

Expression mod(DefinitionBuilder& d, const Instance& in, Operands x) {
  const bool as_dividend = in.attributes.integer("fmod") != 0;
  return d.binary(as_dividend ? Kind::truncated_modulo : Kind::floor_modulo, x[0], x[1]);
}

constexpr OperatorRecord mod_record() {
  OperatorRecord result = binary_record<"Mod", TypeSet::numeric, mod, 10>(
      "remainder with the sign of b, or with fmod=1 the sign of a");
  result.attributes = mod_attributes;
  result.infer = infer_mod;
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
  LEMMA_ASSIGN_OR_RETURN(const Shape shape, broadcast_inputs(in));
  if (shape != in.shape(0))
    return bad_input(fmt::format("slope {} cannot be broadcast to {}", text(in.shape(1)),
                                 text(in.shape(0))));
  return infer_same(in);
}

Expression prelu(DefinitionBuilder& d, const Instance&, Operands x) {
  return d.select(x[0] < d.constant(0, x[0].type()), x[1] * x[0], x[0]);
}

constexpr OperatorRecord prelu_record() {
  OperatorRecord result =
      binary_record<"PRelu", TypeSet::numeric, prelu>("x, where negative times a slope");
  result.infer = infer_prelu;
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
  if (!is_unsigned_integer(in.type(0))) return bad_input("only unsigned integers can be shifted");
  return infer_elementwise(in, TypeSet::integer);
}

/// Shifting by the width or more leaves nothing.
Expression bit_shift(DefinitionBuilder& d, const Instance& in, Operands x) {
  const DataType type = in.type(0);
  const Kind kind =
      in.attributes.string("direction") == "LEFT" ? Kind::shift_left : Kind::shift_right;
  return d.select(x[1] < d.integer(bits(type), type), d.binary(kind, x[0], x[1]),
                  d.integer(0, type));
}

constexpr OperatorRecord bit_shift_record() {
  OperatorRecord result = binary_record<"BitShift", TypeSet::integer, bit_shift, 11>(
      "bits of a moved by b places to the left or right");
  result.attributes = bit_shift_attributes;
  result.infer = infer_bit_shift;
  return result;
}

constexpr std::array records = {
    add_record(),
    bit_shift_record(),
    binary_record<"Div", TypeSet::numeric, binary<Kind::divide>>(
        "a / b; integers truncate toward zero"),
    variadic_record<"Max", TypeSet::numeric, fold<Kind::maximum>>(
        "largest of the operands", commutative | associative | idempotent | monotone),
    variadic_record<"Mean", TypeSet::real, mean>("mean of the operands", commutative | monotone),
    variadic_record<"Min", TypeSet::numeric, fold<Kind::minimum>>(
        "smallest of the operands", commutative | associative | idempotent | monotone),
    mod_record(),
    binary_record<"Mul", TypeSet::numeric, binary<Kind::multiply>>(
        "a * b", commutative | associative | linear),
    prelu_record(),
    pow_record(),
    binary_record<"Sub", TypeSet::numeric, binary<Kind::subtract>>("a - b"),
    variadic_record<"Sum", TypeSet::numeric, fold<Kind::add>>("sum of the operands", commutative),
};
static_assert(is_complete(records));

}  // namespace

std::span<const OperatorRecord> arithmetic() { return records; }

}  // namespace lemma::operators
