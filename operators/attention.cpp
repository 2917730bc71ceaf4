#include <array>
#include <cmath>

#include <fmt/format.h>

#include "operators/composition.h"
#include "operators/families.h"
#include "operators/helpers.h"
#include "operators/sizes.h"

// Attention, and what turns its operands by their positions. Operands have the heads as an axis of their own
// [batch, heads, length, size], or one after the other in the last axis [batch, length, heads * size].

namespace lemma::operators {
namespace {

using Compose = Result<std::vector<ValueId>>;
using Types = Result<std::vector<TensorType>>;

/// [batch, heads, length, size]
Shape with_heads(const Shape& shape, const Dimension& heads, const Dimension& size) {
  return shape.size() == 4 ? shape : Shape{shape[0], heads, shape[1], size};
}

/// The value with separate heads, as the operator's definition takes it.
ValueId split_heads(Composer& c, ValueId value, const Shape& given, const Shape& wanted) {
  if (given.size() == 4) return value;
  const ValueId parts =
      c("Reshape", {value}, {{"shape", Shape{wanted[0], wanted[2], wanted[1], wanted[3]}}});
  return c("Transpose", {parts}, {{"perm", Integers{0, 2, 1, 3}}});
}

/// The reverse of split_heads().
ValueId join_heads(Composer& c, ValueId value, const Shape& parts, std::size_t rank) {
  if (rank == 4) return value;
  const ValueId turned = c("Transpose", {value}, {{"perm", Integers{0, 2, 1, 3}}});
  return c("Reshape", {turned}, {{"shape", Shape{parts[0], parts[2], parts[1] * parts[3]}}});
}

/// How many heads an operand has: as its shape says, or an attribute.
Result<Dimension> heads_of(const Instance& in, std::size_t input, std::string_view attribute) {
  if (in.rank(input) == 4) return in.shape(input)[1];
  const std::int64_t heads = in.attributes.integer(attribute);
  if (heads < 1) return bad_input(fmt::format("'{}' is {}", attribute, heads));
  return Dimension(heads);
}

/// The size of one head.
Result<Dimension> size_of_head(const Instance& in, std::size_t input, const Dimension& heads) {
  const Dimension& last = in.shape(input).back();
  if (in.rank(input) == 4) return last;
  if (!in.divides(heads, last))
    return bad_input(fmt::format("{} heads do not share {} elements", heads.text(), last.text()));
  if (const auto size = exact_div(last, heads.offset())) return *size;
  return unsupported(fmt::format("the size of a head of {}", last.text()));
}

// ---- Attention ---------------------------------------------------------------------------------

constexpr std::size_t query = 0, key = 1, value = 2, mask = 3, past_key = 4, past_value = 5,
                      lengths = 6;  // operands

constexpr std::array attention_attributes = {
    AttributeSpecification{"is_causal", AttributeKind::integer, "0"},
    AttributeSpecification{"kv_num_heads", AttributeKind::integer, "0"},
    AttributeSpecification{"q_num_heads", AttributeKind::integer, "0"},
    AttributeSpecification{"qk_matmul_output_mode", AttributeKind::integer, "0"},
    AttributeSpecification{"scale", AttributeKind::real, "optional"},
    AttributeSpecification{"softcap", AttributeKind::real, "0.0"},
    AttributeSpecification{"softmax_precision", AttributeKind::data_type, "optional"},
};

/// Operands with heads as an axis of their own, what was there before included.
struct AttentionShapes {
  Shape query, key, value;           // without what was there before
  Shape present_key, present_value;  // with it
  Dimension past = 0;
  std::int64_t queries_for_each = 1;  // heads of the query for each of the others

  const Dimension& length() const { return present_key[2]; }
  Shape scores() const { return {query[0], query[1], query[2], length()}; }
  Shape result() const { return {query[0], query[1], query[2], value[3]}; }
};

Result<void> check_attention_types(const Instance& in) {
  for (const std::size_t i : {query, key, value})
    LEMMA_RETURN_IF_ERROR(require_type(in, i, TypeSet::real));
  for (const std::size_t i : {key, value, past_key, past_value})
    if (in.has(i) && in.type(i) != in.type(query))
      return unsupported("operands of different element types");
  if (in.has(mask) && in.type(mask) != DataType::boolean && in.type(mask) != in.type(query))
    return unsupported("a mask of another element type");
  if (in.has(lengths) && in.type(lengths) != DataType::i64)
    return bad_input("the lengths are no 64-bit integers");
  return {};
}

/// The shape with what was there before in front along axis 2.
Result<Shape> present_shape(const Instance& in, std::size_t past, const Shape& shape) {
  if (!in.has(past)) return shape;
  LEMMA_RETURN_IF_ERROR(require_rank(in, past, 4, 4));
  for (const std::size_t axis : {0, 1, 3})
    LEMMA_RETURN_IF_ERROR(
        require_same_size(in, in.shape(past)[axis], shape[axis], "sizes of past and present"));
  Shape result = shape;
  result[2] = in.shape(past)[2] + shape[2];
  return result;
}

Result<AttentionShapes> attention_shapes(const Instance& in) {
  for (const std::size_t i : {query, key, value}) LEMMA_RETURN_IF_ERROR(require_rank(in, i, 3, 4));
  if (in.rank(key) != in.rank(query) || in.rank(value) != in.rank(query))
    return bad_input("the operands have different numbers of axes");
  LEMMA_ASSIGN_OR_RETURN(const Dimension q_heads, heads_of(in, query, "q_num_heads"));
  LEMMA_ASSIGN_OR_RETURN(const Dimension heads, heads_of(in, key, "kv_num_heads"));
  LEMMA_ASSIGN_OR_RETURN(const Dimension q_size, size_of_head(in, query, q_heads));
  LEMMA_ASSIGN_OR_RETURN(const Dimension k_size, size_of_head(in, key, heads));
  LEMMA_ASSIGN_OR_RETURN(const Dimension v_size, size_of_head(in, value, heads));
  AttentionShapes result;
  result.query = with_heads(in.shape(query), q_heads, q_size);
  result.key = with_heads(in.shape(key), heads, k_size);
  result.value = with_heads(in.shape(value), heads, v_size);
  LEMMA_RETURN_IF_ERROR(
      require_same_size(in, result.query[3], result.key[3], "sizes of query and key"));
  for (const std::size_t axis : {0, 1, 2})
    LEMMA_RETURN_IF_ERROR(
        require_same_size(in, result.key[axis], result.value[axis], "sizes of key and value"));
  LEMMA_RETURN_IF_ERROR(
      require_same_size(in, result.query[0], result.key[0], "sizes of the batch"));
  if (!(q_heads == heads)) {
    if (!q_heads.is_constant() || !heads.is_constant() || heads.is(0))
      return unsupported("numbers of heads that are not known");
    if (q_heads.offset() % heads.offset() != 0)
      return bad_input(fmt::format("{} heads for {}", heads.text(), q_heads.text()));
    result.queries_for_each = q_heads.offset() / heads.offset();
  }
  LEMMA_ASSIGN_OR_RETURN(result.present_key, present_shape(in, past_key, result.key));
  LEMMA_ASSIGN_OR_RETURN(result.present_value, present_shape(in, past_value, result.value));
  LEMMA_RETURN_IF_ERROR(require_same_size(in, result.present_key[2], result.present_value[2],
                                          "lengths of key and value"));
  if (in.has(past_key)) result.past = in.shape(past_key)[2];
  return result;
}

/// How many positions a mask lacks at the end, which count as masked.
Result<Dimension> missing_positions(const Instance& in, const AttentionShapes& shapes) {
  const Dimension missing = shapes.length() - in.shape(mask).back();
  if (!missing.is_constant() || missing.offset() < 0)
    return unsupported("a mask whose length is not known");
  return missing;
}

Result<void> check_mask(const Instance& in, const AttentionShapes& shapes) {
  LEMMA_RETURN_IF_ERROR(require_rank(in, mask, 2, 4));
  Shape whole = in.shape(mask);
  LEMMA_ASSIGN_OR_RETURN(const Dimension missing, missing_positions(in, shapes));
  whole.back() = whole.back() + missing;
  LEMMA_ASSIGN_OR_RETURN(const bool fits, broadcasts_to(in, whole, shapes.scores()));
  if (!fits) return bad_input(fmt::format("a mask of the shape {}", text(in.shape(mask))));
  return {};
}

Types infer_attention(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(check_attention_types(in));
  LEMMA_ASSIGN_OR_RETURN(const AttentionShapes shapes, attention_shapes(in));
  if (in.has(mask)) LEMMA_RETURN_IF_ERROR(check_mask(in, shapes));
  if (in.has(lengths)) {
    LEMMA_RETURN_IF_ERROR(require_rank(in, lengths, 1, 1));
    LEMMA_RETURN_IF_ERROR(
        require_same_size(in, in.shape(lengths)[0], shapes.query[0], "sizes of the batch"));
  }
  if (!in.attributes.has("scale") && !shapes.query[3].is_constant())
    return unsupported("a scale that depends on a size that is not known");
  const std::int64_t mode = in.attributes.integer("qk_matmul_output_mode");
  if (mode < 0 || mode > 3) return bad_input(fmt::format("qk_matmul_output_mode is {}", mode));
  if (in.attributes.has("softmax_precision") &&
      !is_real(in.attributes.data_type("softmax_precision")))
    return bad_input("softmax_precision is no real type");
  const Shape result = shapes.result();
  const Shape joined = {result[0], result[2], result[1] * result[3]};
  const DataType type = in.type(query);
  std::vector<TensorType> types = {{type, in.rank(query) == 4 ? result : joined},
                                   {type, shapes.present_key},
                                   {type, shapes.present_value},
                                   {type, shapes.scores()}};
  types.resize(in.output_count);
  return types;
}

/// Each head as often as there are heads of the query for it, one after the other.
ValueId repeated_heads(Composer& c, ValueId x, const Shape& shape, std::int64_t times) {
  if (times == 1) return x;
  const ValueId apart = c("Unsqueeze", {x}, {{"axes", Integers{2}}});
  const ValueId many =
      c("Expand", {apart}, {{"shape", Shape{shape[0], shape[1], times, shape[2], shape[3]}}});
  return c("Reshape", {many}, {{"shape", Shape{shape[0], shape[1] * times, shape[2], shape[3]}}});
}

/// What is added to the scores: 0 where the condition holds, minus infinity elsewhere.
ValueId penalty(Composer& c, ValueId condition, DataType type) {
  return c("Where", {condition, c.scalar(0, type), c.scalar(-HUGE_VAL, type)});
}

/// The mask as an addend, whole.
ValueId addend(Composer& c, const Instance& in, ValueId given, const Dimension& missing) {
  const DataType type = in.type(query);
  const ValueId whole = in.type(mask) == DataType::boolean ? penalty(c, given, type) : given;
  if (missing.is(0)) return whole;
  Shape pads(2 * in.rank(mask), Dimension(0));
  pads.back() = missing;
  return c("Pad", {whole}, {{"pads", pads}, {"value", -HUGE_VAL}});
}

/// No position sees a later one.
ValueId causal_addend(Composer& c, const AttentionShapes& shapes, DataType type) {
  const Shape scores = shapes.scores();
  const ValueId rows = c("Range", {}, {{"start", shapes.past}, {"limit", shapes.past + scores[2]}});
  const ValueId column = c("Unsqueeze", {rows}, {{"axes", Integers{1}}});
  const ValueId columns = c("Range", {}, {{"limit", scores[3]}});
  return penalty(c, c("LessOrEqual", {columns, column}), type);
}

/// Positions from a batch's own length on are masked.
ValueId length_addend(Composer& c, const AttentionShapes& shapes, ValueId given, DataType type) {
  const ValueId limits = c("Unsqueeze", {given}, {{"axes", Integers{1, 2, 3}}});
  return penalty(c, c("Less", {c("Range", {}, {{"limit", shapes.length()}}), limits}), type);
}

Compose compose_attention(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  LEMMA_ASSIGN_OR_RETURN(const AttentionShapes shapes, attention_shapes(in));
  Composer c(graph);
  const DataType type = in.type(query);
  const ValueId q = split_heads(c, inputs[query], in.shape(query), shapes.query);
  ValueId k = split_heads(c, inputs[key], in.shape(key), shapes.key);
  ValueId v = split_heads(c, inputs[value], in.shape(value), shapes.value);
  if (in.has(past_key)) k = c("Concat", {inputs[past_key], k}, {{"axis", std::int64_t{2}}});
  if (in.has(past_value)) v = c("Concat", {inputs[past_value], v}, {{"axis", std::int64_t{2}}});
  const std::vector<ValueId> present = {k, v};
  k = repeated_heads(c, k, shapes.present_key, shapes.queries_for_each);
  v = repeated_heads(c, v, shapes.present_value, shapes.queries_for_each);

  const auto size = [&](DefinitionBuilder& d) {
    return d.real(static_cast<double>(shapes.query[3].offset()), type);
  };
  const ValueId root = c.scalar(type, [&](DefinitionBuilder& d) {
    const Expression scale =
        in.attributes.has("scale")
            ? d.real(in.attributes.real("scale"), type)
            : d.apply(ScalarFunction::reciprocal, d.apply(ScalarFunction::sqrt, size(d)));
    return d.apply(ScalarFunction::sqrt, scale);
  });
  const ValueId turned = c("Transpose", {k}, {{"perm", Integers{0, 1, 3, 2}}});
  const ValueId product = c("MatMul", {c.multiply(q, root), c.multiply(turned, root)});
  ValueId capped = product;
  if (!in.attributes.is_zero("softcap")) {
    const ValueId limit = c.scalar(in.attributes.real("softcap"), type);
    capped = c.multiply(c("Tanh", {c.divide(product, limit)}), limit);
  }
  ValueId biased = capped;
  if (in.has(mask)) {
    LEMMA_ASSIGN_OR_RETURN(const Dimension missing, missing_positions(in, shapes));
    biased = c.add(biased, addend(c, in, inputs[mask], missing));
  }
  if (in.attributes.integer("is_causal") != 0)
    biased = c.add(biased, causal_addend(c, shapes, type));
  if (in.has(lengths)) biased = c.add(biased, length_addend(c, shapes, inputs[lengths], type));

  const DataType precision =
      in.attributes.has("softmax_precision") ? in.attributes.data_type("softmax_precision") : type;
  const ValueId weights =
      c.cast(c("Softmax", {c.cast(biased, precision)}, {{"axis", std::int64_t{3}}}), type);
  const std::array<ValueId, 4> shown = {product, capped, biased, weights};
  const ValueId result = join_heads(c, c("MatMul", {weights, v}), shapes.result(), in.rank(query));
  std::vector<ValueId> outputs = {
      result, present[0], present[1],
      shown[static_cast<std::size_t>(in.attributes.integer("qk_matmul_output_mode"))]};
  outputs.resize(in.output_count);
  return c.outputs(std::move(outputs));
}

/// FlexAttention without bodies: products are of the precision of the operands in Attention, so that of the softmax has
/// to be the same.
Result<ImportedCall> import_flex_attention(const OnnxCall& call, ImportedCall imported) {
  if (call.inputs.size() != 3) return bad_input("three inputs are needed");
  for (const OnnxOperand& operand : call.inputs)
    if (operand.type.shape && operand.type.shape->size() != 4)
      return bad_input("the operands of FlexAttention have 4 axes");
  const DataType type = call.inputs[query].type.data_type;
  const DataType usual = type == DataType::f64 ? type : DataType::f32;
  const DataType precision = imported.attributes.has("softmax_precision")
                                 ? imported.attributes.data_type("softmax_precision")
                                 : usual;
  if (precision != type)
    return unsupported(fmt::format("FlexAttention of {} in {}", name(type), name(precision)));
  imported.attributes.set("softmax_precision", precision);
  return imported;
}

constexpr std::array attention_onnx = {OnnxMapping{.name = "Attention", .since = 23},
                                       OnnxMapping{.name = "FlexAttention",
                                                   .since = 1,
                                                   .import_hook = import_flex_attention,
                                                   .import_only = true,
                                                   .domain = "ai.onnx.preview"}};

// ---- RotaryEmbedding ---------------------------------------------------------------------------
//
// Pairs of elements of each head are turned by an angle that depends on the position.

constexpr std::array rotary_attributes = {
    AttributeSpecification{"interleaved", AttributeKind::integer, "0"},
    AttributeSpecification{"num_heads", AttributeKind::integer, "0"},
    AttributeSpecification{"rotary_embedding_dim", AttributeKind::integer, "0"},
};

struct RotaryShapes {
  Shape operand;           // [batch, heads, length, size]
  Dimension turned, half;  // elements of a head that are turned
};

Result<RotaryShapes> rotary_shapes(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 3, 4));
  LEMMA_ASSIGN_OR_RETURN(const Dimension heads, heads_of(in, 0, "num_heads"));
  LEMMA_ASSIGN_OR_RETURN(const Dimension size, size_of_head(in, 0, heads));
  RotaryShapes result{with_heads(in.shape(0), heads, size), size, 0};
  if (const std::int64_t given = in.attributes.integer("rotary_embedding_dim"); given != 0)
    result.turned = given;
  if (!in.is_at_most(result.turned, size))
    return bad_input(
        fmt::format("{} elements of a head of {} are turned", result.turned.text(), size.text()));
  if (!in.divides(2, result.turned)) return bad_input("an odd number of elements is turned");
  const auto half = exact_div(result.turned, 2);
  if (!half) return unsupported("a number of elements that may be odd");
  result.half = *half;
  return result;
}

Types infer_rotary(const Instance& in) {
  for (const std::size_t i : {0, 1, 2}) {
    LEMMA_RETURN_IF_ERROR(require_type(in, i, TypeSet::real));
    if (in.type(i) != in.type(0)) return bad_input("operands of different element types");
  }
  LEMMA_ASSIGN_OR_RETURN(const RotaryShapes shapes, rotary_shapes(in));
  const bool by_position = in.has(3);
  for (const std::size_t i : {1, 2}) {
    LEMMA_RETURN_IF_ERROR(require_rank(in, i, by_position ? 2 : 3, by_position ? 2 : 3));
    LEMMA_RETURN_IF_ERROR(
        require_same_size(in, in.shape(i).back(), shapes.half, "numbers of angles"));
    if (by_position) continue;
    LEMMA_RETURN_IF_ERROR(
        require_same_size(in, in.shape(i)[0], shapes.operand[0], "sizes of the batch"));
    LEMMA_RETURN_IF_ERROR(require_same_size(in, in.shape(i)[1], shapes.operand[2], "lengths"));
  }
  if (by_position) {
    if (in.type(3) != DataType::i64) return bad_input("the positions are no 64-bit integers");
    LEMMA_RETURN_IF_ERROR(require_rank(in, 3, 2, 2));
    LEMMA_RETURN_IF_ERROR(
        require_same_size(in, in.shape(3)[0], shapes.operand[0], "sizes of the batch"));
    LEMMA_RETURN_IF_ERROR(require_same_size(in, in.shape(3)[1], shapes.operand[2], "lengths"));
  }
  return std::vector<TensorType>{in.inputs[0]};
}

/// Elements first, ..., last - 1 of the last axis of four.
ValueId last_part(Composer& c, ValueId x, const Dimension& first, const Dimension& last) {
  return c("Slice", {x}, {{"starts", Shape{first}}, {"ends", Shape{last}}, {"axes", Integers{3}}});
}

/// Both elements of each pair: neighbours, or from the two halves.
std::array<ValueId, 2> pairs(Composer& c, ValueId x, const RotaryShapes& shapes, bool neighbours) {
  if (!neighbours)
    return {last_part(c, x, 0, shapes.half), last_part(c, x, shapes.half, shapes.turned)};
  const Shape& s = shapes.operand;
  const ValueId apart =
      c("Reshape", {x}, {{"shape", Shape{s[0], s[1], s[2], shapes.half, Dimension(2)}}});
  std::array<ValueId, 2> result;
  for (const std::int64_t i : {0, 1}) {
    const ValueId part = c("Slice", {apart},
                           {{"starts", Shape{Dimension(i)}},
                            {"ends", Shape{Dimension(i + 1)}},
                            {"axes", Integers{4}}});
    result[static_cast<std::size_t>(i)] = c("Squeeze", {part}, {{"axes", Integers{4}}});
  }
  return result;
}

/// The reverse of pairs().
ValueId from_pairs(Composer& c, ValueId a, ValueId b, const RotaryShapes& shapes, bool neighbours) {
  if (!neighbours) return c("Concat", {a, b}, {{"axis", std::int64_t{3}}});
  const Attributes last = {{"axes", Integers{4}}};
  const ValueId apart = c("Concat", {c("Unsqueeze", {a}, last), c("Unsqueeze", {b}, last)},
                          {{"axis", std::int64_t{4}}});
  const Shape& s = shapes.operand;
  return c("Reshape", {apart}, {{"shape", Shape{s[0], s[1], s[2], shapes.turned}}});
}

Compose compose_rotary(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  LEMMA_ASSIGN_OR_RETURN(const RotaryShapes shapes, rotary_shapes(in));
  Composer c(graph);
  const bool neighbours = in.attributes.integer("interleaved") != 0;
  const ValueId x = split_heads(c, inputs[0], in.shape(0), shapes.operand);
  std::array<ValueId, 2> angles = {inputs[1], inputs[2]};  // cosines, sines
  for (ValueId& angle : angles) {
    if (in.has(3)) angle = c("Gather", {angle, inputs[3]}, {{"axis", std::int64_t{0}}});
    angle = c("Unsqueeze", {angle}, {{"axes", Integers{1}}});
  }
  const bool whole = shapes.turned == shapes.operand[3];
  const ValueId moving = whole ? x : last_part(c, x, 0, shapes.turned);
  const auto [a, b] = pairs(c, moving, shapes, neighbours);
  const ValueId real = c.subtract(c.multiply(angles[0], a), c.multiply(angles[1], b));
  const ValueId imaginary = c.add(c.multiply(angles[1], a), c.multiply(angles[0], b));
  ValueId result = from_pairs(c, real, imaginary, shapes, neighbours);
  if (!whole) {
    const ValueId rest = last_part(c, x, shapes.turned, shapes.operand[3]);
    result = c("Concat", {result, rest}, {{"axis", std::int64_t{3}}});
  }
  return c.outputs({join_heads(c, result, shapes.operand, in.rank(0))});
}

constexpr std::array rotary_onnx = {OnnxMapping{.name = "RotaryEmbedding", .since = 23}};

constexpr std::array rotary_examples = {
    OperatorExample{"f32[N, 4, L, 6]; f32[N, L, 3]; f32[N, L, 3]"},
    OperatorExample{"f32[N, 4, L, 6]; f32[P, 2]; f32[P, 2]; i64[N, L]", "rotary_embedding_dim=4"},
    OperatorExample{"f32[N, L, 12]; f32[N, L, 3]; f32[N, L, 3]", "num_heads=2; interleaved=1"},
};

constexpr std::array attention_records = {
    OperatorRecord{.name = "Attention",
                   .summary = "sums of values, weighted by how well their keys fit the query; keys "
                              "and values as they are now, and the weights on the way",
                   .inputs = {3, 7},
                   .outputs = {1, 4},
                   .attributes = attention_attributes,
                   .infer = infer_attention,
                   .compose = compose_attention,
                   .onnx = attention_onnx},
    OperatorRecord{.name = "RotaryEmbedding",
                   .summary = "pairs of elements, turned by angles that depend on the position",
                   .inputs = {3, 4},
                   .attributes = rotary_attributes,
                   .infer = infer_rotary,
                   .compose = compose_rotary,
                   .onnx = rotary_onnx,
                   .examples = rotary_examples},
};
static_assert(is_complete(attention_records));

}  // namespace

std::span<const OperatorRecord> attention() { return attention_records; }

}  // namespace lemma::operators
