#include <array>

#include <fmt/format.h>

#include "operators/elementwise.h"
#include "operators/families.h"
#include "operators/narrow_types.h"

namespace lemma::operators {
namespace {

using Kind = ExpressionKind;
using Operands = std::vector<Expression>;

// ---- Truth and bits ---------------------------------------------------------------------------

Expression both(DefinitionBuilder&, const Instance&, Operands x) { return x[0] && x[1]; }
Expression either(DefinitionBuilder&, const Instance&, Operands x) { return x[0] || x[1]; }
Expression one_of(DefinitionBuilder&, const Instance&, Operands x) { return !(x[0] == x[1]); }
Expression negation(DefinitionBuilder&, const Instance&, Operands x) { return !x[0]; }

template <Kind kind>
Expression bitwise(DefinitionBuilder& d, const Instance&, Operands x) {
  return d.binary(kind, x[0], x[1]);
}

/// The complement of all bits: in two's complement -x = ~x + 1.
Expression bitwise_not(DefinitionBuilder& d, const Instance& in, Operands x) {
  return d.integer(-1, in.type(0)) - x[0];
}

// ---- Comparisons ------------------------------------------------------------------------------

Expression equal(DefinitionBuilder&, const Instance&, Operands x) { return x[0] == x[1]; }
Expression less(DefinitionBuilder&, const Instance&, Operands x) { return x[0] < x[1]; }
Expression greater(DefinitionBuilder&, const Instance&, Operands x) { return x[1] < x[0]; }
Expression less_equal(DefinitionBuilder&, const Instance&, Operands x) { return x[0] <= x[1]; }
Expression greater_equal(DefinitionBuilder&, const Instance&, Operands x) { return x[1] <= x[0]; }

template <TypeSet types>
Result<std::vector<TensorType>> infer_comparison(const Instance& in) {
  LEMMA_ASSIGN_OR_RETURN(std::vector<TensorType> result, infer_elementwise(in, types));
  result[0].data_type = DataType::boolean;
  return result;
}

template <StaticName name, TypeSet types, ElementBody body, int since = 7>
constexpr OperatorRecord comparison_record(std::string_view summary,
                                           std::uint32_t flags = no_flags) {
  OperatorRecord result = binary_record<name, types, body, since>(summary, flags);
  result.infer = infer_comparison<types>;
  return result;
}

// ---- Where ------------------------------------------------------------------------------------

Result<std::vector<TensorType>> infer_where(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_type(in, 0, TypeSet::boolean));
  LEMMA_RETURN_IF_ERROR(require_type(in, 1, TypeSet::any));
  if (in.type(1) != in.type(2))
    return bad_input(fmt::format("the choices are {} and {}", name(in.type(1)), name(in.type(2))));
  LEMMA_ASSIGN_OR_RETURN(Shape shape, broadcast_inputs(in));
  return std::vector<TensorType>{{in.type(1), std::move(shape)}};
}

Expression choose(DefinitionBuilder& d, const Instance&, Operands x) {
  return d.select(x[0], x[1], x[2]);
}

/// The usual applications give all operands one type, and the condition has its own.
constexpr std::array where_examples = {
    OperatorExample{"bool[]; f32[]; f32[]"},
    OperatorExample{"bool[N]; f64[N]; f64[N]"},
    OperatorExample{"bool[N, 1]; f16[1, M]; f16[]"},
    OperatorExample{"bool[N, M, K]; i64[N, M, K]; i64[N, M, K]"},
    OperatorExample{"bool[M]; u8[N, 1]; u8[K, 1, 1]"},
};

constexpr OperatorRecord where_record() {
  OperatorRecord result =
      unary_record<"Where", TypeSet::any, choose, 9>("a where the condition holds, b elsewhere");
  result.inputs = {3, 3};
  result.infer = infer_where;
  result.examples = where_examples;
  return result;
}

// ---- Cast -------------------------------------------------------------------------------------

Expression convert(DefinitionBuilder& d, Expression x, DataType type) {
  if (x.type() == type) return x;
  if (is_narrow(x.type())) return convert(d, number_of_code(d, x), type);
  if (is_narrow(type)) return code_of_number(d, x, type, true);
  if (type == DataType::boolean && x.type() != DataType::boolean)
    return !(x == d.constant(0, x.type()));
  return d.cast(x, type);
}

Result<std::vector<TensorType>> cast_type(const Instance& in, DataType type) {
  if (!is_computable(type)) return unsupported(fmt::format("a cast to {}", name(type)));
  return std::vector<TensorType>{{type, in.shape(0)}};
}

constexpr std::array cast_attributes = {
    AttributeSpecification{"to", AttributeKind::data_type},
};

Result<std::vector<TensorType>> infer_cast(const Instance& in) {
  return cast_type(in, in.attributes.data_type("to"));
}

Expression cast(DefinitionBuilder& d, const Instance& in, Operands x) {
  return convert(d, x[0], in.attributes.data_type("to"));
}

/// `saturate` and `round_mode` only concern floating-point types of 8 bits.
Result<void> check_rounding(const OnnxCall& call, DataType to) {
  if (!is_narrow(to)) return {};
  if (call.attributes.has("saturate") && call.attributes.integer("saturate") == 0)
    return unsupported("a cast that does not saturate");
  if (to == DataType::f8e8m0 && call.attributes.has("round_mode") &&
      call.attributes.string("round_mode") != "up")
    return unsupported("a cast that rounds powers of two down, or to the nearest");
  return {};
}

Result<ImportedCall> import_cast(const OnnxCall& call, ImportedCall imported) {
  for (const auto& [name, value] : call.attributes)
    if (name != "to" && name != "saturate" && name != "round_mode")
      return unsupported(fmt::format("attribute '{}' is not supported", name));
  if (imported.attributes.has("to"))
    LEMMA_RETURN_IF_ERROR(check_rounding(call, imported.attributes.data_type("to")));
  return imported;
}

/// Imports CastLike: nothing but the second operand's element type matters, and that is known here.
Result<ImportedCall> import_cast_like(const OnnxCall& call, ImportedCall imported) {
  LEMMA_ASSIGN_OR_RETURN(imported, import_cast(call, std::move(imported)));
  if (call.inputs.size() != 2) return bad_input("two inputs are needed");
  if (!is_computable(call.inputs[1].type.data_type))
    return unsupported(fmt::format("a cast to {}", name(call.inputs[1].type.data_type)));
  LEMMA_RETURN_IF_ERROR(check_rounding(call, call.inputs[1].type.data_type));
  imported.attributes.set("to", call.inputs[1].type.data_type);
  imported.inputs = {0};
  return imported;
}

constexpr std::array cast_onnx = {
    OnnxMapping{.name = "Cast", .since = 6, .import_hook = import_cast},
    OnnxMapping{
        .name = "CastLike", .since = 15, .import_hook = import_cast_like, .import_only = true}};

constexpr OperatorRecord cast_record() {
  OperatorRecord result = unary_record<"Cast", TypeSet::any, cast>(
      "x in another element type; reals truncate to integers, non-zero is true", cast_attributes);
  result.infer = infer_cast;
  result.onnx = cast_onnx;
  return result;
}

Result<std::vector<TensorType>> infer_cast_like(const Instance& in) {
  return cast_type(in, in.type(1));
}

Definition define_cast_like(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = d.variables(in.shape(0));
  d.output(axes, convert(d, d.read(0, in.type(0), axes), in.type(1)));
  return std::move(d).finish();
}

Result<ImportedCall> import_typed_like(const OnnxCall& call, ImportedCall imported) {
  if (call.inputs.size() == 2)
    LEMMA_RETURN_IF_ERROR(check_rounding(call, call.inputs[1].type.data_type));
  return import_cast(call, std::move(imported));
}

constexpr std::array cast_like_onnx = {
    OnnxMapping{.name = "CastLike", .since = 15, .import_hook = import_typed_like}};

// ---- BitCast ----------------------------------------------------------------------------------

/// Integers only: definitions have no access to the bits of reals.
Result<std::vector<TensorType>> infer_bit_cast(const Instance& in) {
  const DataType from = in.type(0), to = in.attributes.data_type("to");
  if (bits(from) != bits(to))
    return bad_input(fmt::format("the bits of {} as those of {}", name(from), name(to)));
  const bool is_known =
      from == to || (is_integer(to) && (is_integer(from) || from == DataType::boolean));
  if (!is_known || !is_computable(to))
    return unsupported(fmt::format("the bits of {} as those of {}", name(from), name(to)));
  return std::vector<TensorType>{{to, in.shape(0)}};
}

/// Integers are stored modulo the range of their type.
Expression bit_cast(DefinitionBuilder& d, const Instance& in, Operands x) {
  const DataType to = in.attributes.data_type("to");
  return x[0].type() == to ? x[0] : d.cast(x[0], to);
}

constexpr std::array bit_cast_onnx = {OnnxMapping{.name = "BitCast", .since = 26}};

constexpr OperatorRecord bit_cast_record() {
  OperatorRecord result = unary_record<"BitCast", TypeSet::any, bit_cast>(
      "the bits of an integer as another type of as many bits", cast_attributes);
  result.infer = infer_bit_cast;
  result.onnx = bit_cast_onnx;
  return result;
}

// ---- Cast that does not saturate --------------------------------------------------------------

Result<std::vector<TensorType>> infer_unsaturated_cast(const Instance& in) {
  const DataType to = in.attributes.data_type("to");
  if (!has_8_bit_float_range(to))
    return unsupported(fmt::format("a cast to {} that does not saturate", name(to)));
  LEMMA_RETURN_IF_ERROR(require_type(in, 0, TypeSet::any));
  return std::vector<TensorType>{{to, in.shape(0)}};
}

Expression unsaturated_cast(DefinitionBuilder& d, const Instance& in, Operands x) {
  const Expression number = is_narrow(x[0].type()) ? number_of_code(d, x[0]) : x[0];
  return code_of_number(d, number, in.attributes.data_type("to"), false);
}

/// Imports Cast or CastLike with `saturate` 0.
Result<ImportedCall> import_unsaturated_cast(const OnnxCall& call, ImportedCall imported) {
  if (!call.attributes.has("saturate") || call.attributes.integer("saturate") != 0)
    return unsupported("a cast that saturates");
  for (const auto& [name, value] : call.attributes)
    if (name != "to" && name != "saturate" && name != "round_mode")
      return unsupported(fmt::format("attribute '{}' is not supported", name));
  if (call.name == "CastLike") {
    if (call.inputs.size() != 2) return bad_input("two inputs are needed");
    imported.attributes.set("to", call.inputs[1].type.data_type);
    imported.inputs = {0};
  }
  return imported;
}

Result<ExportedCall> export_unsaturated_cast(const Instance&, int opset, ExportedCall exported) {
  if (opset < 19)
    return unsupported(fmt::format("operator set {} has no casts that do not saturate", opset));
  exported.attributes.set("saturate", INT64_C(0));
  return exported;
}

constexpr std::array unsaturated_cast_onnx = {OnnxMapping{.name = "Cast",
                                                          .since = 19,
                                                          .import_hook = import_unsaturated_cast,
                                                          .export_hook = export_unsaturated_cast},
                                              OnnxMapping{.name = "CastLike",
                                                          .since = 19,
                                                          .import_hook = import_unsaturated_cast,
                                                          .import_only = true}};

constexpr std::array unsaturated_cast_examples = {
    OperatorExample{"f32[M, K]", "to=f8e5m2"},
    OperatorExample{"f64[M]", "to=f8e4m3fn"},
    OperatorExample{"f16[M]", "to=f8e5m2fnuz"},
    OperatorExample{"f32[]", "to=f8e4m3fnuz"},
};

constexpr OperatorRecord unsaturated_cast_record() {
  OperatorRecord result = unary_record<"UnsaturatedCast", TypeSet::any, unsaturated_cast>(
      "x in a floating-point type of 8 bits; what is outside its range becomes an infinity, or NaN",
      cast_attributes);
  result.infer = infer_unsaturated_cast;
  result.examples = unsaturated_cast_examples;
  result.onnx = unsaturated_cast_onnx;
  return result;
}

constexpr std::array logic_records = {
    binary_record<"And", TypeSet::boolean, both>("a and b", commutative),
    bit_cast_record(),
    binary_record<"BitwiseAnd", TypeSet::integer, bitwise<Kind::bit_and>, 18>("bits set in both",
                                                                              commutative),
    unary_record<"BitwiseNot", TypeSet::integer, bitwise_not, 18>("bits flipped"),
    binary_record<"BitwiseOr", TypeSet::integer, bitwise<Kind::bit_or>, 18>("bits set in either",
                                                                            commutative),
    binary_record<"BitwiseXor", TypeSet::integer, bitwise<Kind::bit_xor>, 18>(
        "bits set in one of the two", commutative),
    cast_record(),
    OperatorRecord{.name = "CastLike",
                   .summary = "x in the element type of the second operand",
                   .inputs = {2, 2},
                   .infer = infer_cast_like,
                   .define = define_cast_like,
                   .onnx = cast_like_onnx},
    comparison_record<"Equal", TypeSet::wide, equal>("a == b", commutative),
    comparison_record<"Greater", TypeSet::numeric, greater>("a > b"),
    comparison_record<"GreaterOrEqual", TypeSet::numeric, greater_equal, 12>("a >= b"),
    comparison_record<"Less", TypeSet::numeric, less>("a < b"),
    comparison_record<"LessOrEqual", TypeSet::numeric, less_equal, 12>("a <= b"),
    unary_record<"Not", TypeSet::boolean, negation>("not a"),
    binary_record<"Or", TypeSet::boolean, either>("a or b", commutative),
    unsaturated_cast_record(),
    where_record(),
    binary_record<"Xor", TypeSet::boolean, one_of>("a or b, not both", commutative),
};
static_assert(is_complete(logic_records));

}  // namespace

std::span<const OperatorRecord> logic() { return logic_records; }

}  // namespace lemma::operators
