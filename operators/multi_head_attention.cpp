#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <variant>

#include <fmt/format.h>

#include "operators/composition.h"
#include "operators/families.h"
#include "operators/helpers.h"
#include "operators/runtime_names.h"
#include "operators/sizes.h"

// Attention with heads one after the other in the last axis, as ONNX Runtime has it: without what was there before,
// with operands of their own for query, key and value, and with a mask that has an entry for each score.
//
// ONNX Runtime adds mask_filter_value to the scores that a mask leaves out. Up to what is_absorbing demands, a score of a usual size
// is lost in that sum, so that it is the value itself; this is what the operator says. Smaller values are another operator.

namespace lemma::operators {
namespace {

using Compose = Result<std::vector<ValueId>>;
using Types = Result<std::vector<TensorType>>;

enum Operand : std::size_t { query, key, value, bias, addend, mask };

constexpr std::array attributes = {
    AttributeSpecification{"num_heads", AttributeKind::dimension},
    AttributeSpecification{"scale", AttributeKind::real, "0.0"},
    AttributeSpecification{"mask_filter_value", AttributeKind::real, "0.0"},
};

/// Whether a score of up to 1e22 in f32 disappears beside the value. It is a number then, and none that stands for others.
bool is_absorbing(const AttributeValue* value) {
  const auto* number = value == nullptr ? nullptr : std::get_if<double>(value);
  return number != nullptr && *number <= -1e30 && std::isfinite(*number);
}

struct Sizes {
  Dimension batch, queries, keys;  // lengths
  Dimension heads;
  Dimension of_key, of_value;  // of one head
};

/// The size of one head.
Result<Dimension> part_for_head(const Instance& in, std::size_t operand, const Dimension& heads) {
  const Dimension& last = in.shape(operand).back();
  if (!in.divides(heads, last))
    return bad_input(fmt::format("{} heads do not share {} elements", heads.text(), last.text()));
  if (const auto size = exact_div(last, heads)) return *size;
  return unsupported(fmt::format("the size of a head of {}", last.text()));
}

Result<Sizes> sizes_of(const Instance& in) {
  for (const std::size_t i : {query, key, value}) LEMMA_RETURN_IF_ERROR(require_rank(in, i, 3, 3));
  const Dimension& heads = in.attributes.dimension("num_heads");
  if (heads.is_constant() && heads.offset() < 1)
    return bad_input(fmt::format("num_heads is {}", heads.text()));
  LEMMA_ASSIGN_OR_RETURN(const Dimension of_key, part_for_head(in, query, heads));
  LEMMA_ASSIGN_OR_RETURN(const Dimension of_value, part_for_head(in, value, heads));
  for (const std::size_t i : {key, value})
    LEMMA_RETURN_IF_ERROR(
        require_same_size(in, in.shape(i)[0], in.shape(query)[0], "sizes of the batch"));
  LEMMA_RETURN_IF_ERROR(
      require_same_size(in, in.shape(key)[1], in.shape(value)[1], "lengths of key and value"));
  LEMMA_RETURN_IF_ERROR(
      require_same_size(in, in.shape(key)[2], in.shape(query)[2], "sizes of query and key"));
  return Sizes{in.shape(query)[0], in.shape(query)[1], in.shape(key)[1], heads, of_key, of_value};
}

/// All operands but the mask have one real type.
Result<void> require_operand_types(const Instance& in) {
  for (std::size_t i = 0; i < in.inputs.size(); ++i) {
    if (!in.has(i) || i == mask) continue;
    LEMMA_RETURN_IF_ERROR(require_type(in, i, TypeSet::real));
    if (in.type(i) != in.type(query))
      return bad_input(
          fmt::format("operands of {} and {}", name(in.type(query)), name(in.type(i))));
  }
  if (!in.has(mask)) return {};
  if (in.type(mask) != DataType::i32) return bad_input("the mask is not of i32");
  if (in.has(addend)) return bad_input("both a mask and an addend of the scores");
  if (!is_absorbing(in.attributes.find("mask_filter_value")))
    return bad_input("a mask_filter_value above -1e30");
  return {};
}

/// Inputs: query [batch, queries, heads * size], key [batch, keys, heads * size], value [batch, keys, heads * other
/// size]; perhaps biases of all three one after the other, and what is added to the scores [1 or batch, 1 or heads,
/// queries, keys] or a mask i32[batch, queries, keys], above 0 where a score counts.
Types infer_multi_head(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_operand_types(in));
  LEMMA_ASSIGN_OR_RETURN(const Sizes sizes, sizes_of(in));
  if (in.has(bias)) {
    LEMMA_RETURN_IF_ERROR(require_rank(in, bias, 1, 1));
    LEMMA_RETURN_IF_ERROR(require_same_size(
        in, in.shape(bias)[0], in.shape(query)[2] + in.shape(key)[2] + in.shape(value)[2],
        "sizes of bias and operands"));
  }
  if (in.has(addend)) {
    LEMMA_RETURN_IF_ERROR(require_rank(in, addend, 4, 4));
    const Shape scores = {sizes.batch, sizes.heads, sizes.queries, sizes.keys};
    for (const std::size_t axis : {2, 3})
      LEMMA_RETURN_IF_ERROR(
          require_same_size(in, in.shape(addend)[axis], scores[axis], "sizes of the scores"));
    LEMMA_ASSIGN_OR_RETURN(const bool fits, broadcasts_to(in, in.shape(addend), scores));
    if (!fits)
      return bad_input(fmt::format("an addend of the shape {} for scores of the shape {}",
                                   text(in.shape(addend)), text(scores)));
  }
  if (in.has(mask)) {
    LEMMA_RETURN_IF_ERROR(require_rank(in, mask, 3, 3));
    const Shape scores = {sizes.batch, sizes.queries, sizes.keys};
    for (const std::size_t axis : {0, 1, 2})
      LEMMA_RETURN_IF_ERROR(
          require_same_size(in, in.shape(mask)[axis], scores[axis], "sizes of mask and scores"));
  }
  if (in.attributes.is_zero("scale") && !sizes.of_key.is_constant())
    return unsupported("a scale that depends on a size that is not known");
  return std::vector<TensorType>{
      {in.type(query), Shape{sizes.batch, sizes.queries, in.shape(value)[2]}}};
}

/// The operand, with its part of the bias, as [batch, heads, length, size] in the given order.
ValueId apart(Composer& c, const Instance& in, std::span<const ValueId> inputs, std::size_t operand,
              const Dimension& heads, const Dimension& size, Integers order) {
  ValueId x = inputs[operand];
  if (in.has(bias)) {
    Dimension begin = 0;
    for (std::size_t i = 0; i < operand; ++i) begin = begin + in.shape(i)[2];
    x = c.add(x, c("Slice", {inputs[bias]},
                   {{"starts", Shape{begin}},
                    {"ends", Shape{begin + in.shape(operand)[2]}},
                    {"axes", Integers{0}}}));
  }
  const Shape& shape = in.shape(operand);
  x = c("Reshape", {x}, {{"shape", Shape{shape[0], shape[1], heads, size}}});
  return c("Transpose", {x}, {{"perm", std::move(order)}});
}

/// The value in the place of scores that the mask leaves out.
ValueId masked(Composer& c, const Instance& in, ValueId scores, ValueId given, const Sizes& sizes) {
  const ValueId of_heads =
      c("Reshape", {given}, {{"shape", Shape{sizes.batch, 1, sizes.queries, sizes.keys}}});
  return c("Where", {c("Greater", {of_heads, c.scalar(0, DataType::i32)}), scores,
                     c.scalar(in.attributes.real("mask_filter_value"), in.type(query))});
}

Compose compose_multi_head(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  LEMMA_ASSIGN_OR_RETURN(const Sizes sizes, sizes_of(in));
  Composer c(graph);
  const ValueId q = apart(c, in, inputs, query, sizes.heads, sizes.of_key, {0, 2, 1, 3});
  const ValueId k = apart(c, in, inputs, key, sizes.heads, sizes.of_key, {0, 2, 3, 1});
  const ValueId v = apart(c, in, inputs, value, sizes.heads, sizes.of_value, {0, 2, 1, 3});
  ValueId scores = c("MatMul", {q, k});
  if (!in.attributes.is_zero("scale"))
    scores = c.scaled(scores, in.attributes.real("scale"));
  else if (!sizes.of_key.is(1))
    scores = c.multiply(scores, c.inverse_root(sizes.of_key, in.type(query)));
  if (in.has(addend)) scores = c.add(scores, inputs[addend]);
  if (in.has(mask)) scores = masked(c, in, scores, inputs[mask], sizes);
  const ValueId weights = c("Softmax", {scores}, {{"axis", std::int64_t{3}}});
  const ValueId turned =
      c("Transpose", {c("MatMul", {weights, v})}, {{"perm", Integers{0, 2, 1, 3}}});
  return c.outputs(
      {c("Reshape", {turned}, {{"shape", Shape{sizes.batch, sizes.queries, in.shape(value)[2]}}})});
}

// In files a mask of keys stands before what is added to the scores, and what was there before after it.
constexpr std::size_t mask_input = 4, addend_input = 5;

/// Why a mask has another meaning than here, or is none that is known.
std::optional<std::string> fault_of_mask(const OnnxCall& call) {
  if (mask_input >= call.inputs.size() || !call.inputs[mask_input].present()) return std::nullopt;
  const TensorType& type = call.inputs[mask_input].type;
  if (!type.shape || type.shape->size() != 3) return "a mask of keys";
  if (addend_input < call.inputs.size() && call.inputs[addend_input].present())
    return "both a mask and an addend";
  // In narrower types the value is infinite.
  if (call.inputs[query].type.data_type != DataType::f32)
    return "a mask of scores of another type than f32";
  if (!is_absorbing(call.attributes.find("mask_filter_value")))
    return "a mask_filter_value above -1e30";
  return std::nullopt;
}

Result<ImportedCall> import_multi_head(const OnnxCall& call, ImportedCall imported) {
  LEMMA_RETURN_IF_ERROR(
      only_attributes(call, {"num_heads", "scale", "mask_filter_value", "unidirectional"}));
  if (integer_or(call, "unidirectional", 0) != 0) return unsupported("a causal mask");
  if (call.uses(1) || call.uses(2) || call.uses(3)) return unsupported("other outputs");
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.inputs[i].present()) continue;
    if (i > addend_input) return unsupported("keys and values that were there before");
  }
  if (const auto fault = fault_of_mask(call)) return unsupported(*fault);
  imported.inputs.clear();
  for (const std::size_t i :
       {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}, addend_input, mask_input}) {
    const bool present = i < call.inputs.size() && call.inputs[i].present();
    if (!present && i <= value) return unsupported("operands that are packed into one");
    if (i <= value && call.inputs[i].type.shape->size() != 3)
      return unsupported("operands with heads as an axis of their own");
    imported.inputs.push_back(present ? static_cast<int>(i) : -1);
  }
  while (imported.inputs.back() < 0) imported.inputs.pop_back();
  if (imported.inputs.size() <= mask) imported.attributes.erase("mask_filter_value");
  imported.outputs = {0};
  return imported;
}

Result<ExportedCall> export_multi_head(const Instance& in, int, ExportedCall exported) {
  if (in.attributes.is_zero("scale")) exported.attributes.erase("scale");
  if (!in.has(mask)) exported.attributes.erase("mask_filter_value");
  // Here the mask is the last one.
  const OnnxInput of_mask = in.has(mask) ? exported.inputs.at(mask) : OnnxInput{OnnxAbsent{}};
  if (in.has(mask)) exported.inputs.erase(exported.inputs.begin() + mask);
  if (exported.inputs.size() > mask_input)
    exported.inputs.insert(exported.inputs.begin() + mask_input, of_mask);
  else if (in.has(mask))
    exported.inputs.push_back(of_mask);
  return exported;
}

constexpr std::array multi_head_onnx = {OnnxMapping{.name = "MultiHeadAttention",
                                                    .import_hook = import_multi_head,
                                                    .export_hook = export_multi_head,
                                                    .domain = onnx_runtime_domain,
                                                    .runtime = onnx_runtime,
                                                    .outputs = 4}};

constexpr std::array multi_head_records = {
    OperatorRecord{.name = "MultiHeadAttention",
                   .summary = "attention with heads one after the other in the last axis",
                   .inputs = {3, 6},
                   .attributes = attributes,
                   .infer = infer_multi_head,
                   .compose = compose_multi_head,
                   .onnx = multi_head_onnx,
                   .runtime = onnx_runtime},
};
static_assert(is_complete(multi_head_records));

}  // namespace

std::span<const OperatorRecord> multi_head_attention() { return multi_head_records; }

}  // namespace lemma::operators
