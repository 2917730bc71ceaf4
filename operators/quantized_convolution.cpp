#include <array>

#include <fmt/format.h>

#include "operators/composition.h"
#include "operators/elementwise.h"
#include "operators/families.h"
#include "operators/sizes.h"

// Convolutions of quantized integers.

namespace lemma::operators {
namespace {

using Types = Result<std::vector<TensorType>>;
using Compose = Result<std::vector<ValueId>>;

bool is_single(const Shape& shape) {
  return shape.empty() || (shape.size() == 1 && shape[0].is(1));
}

// ---- ConvInteger -------------------------------------------------------------------------------
//
// Inputs: x, weight, zero point of x, zero point of the weight (one, or one for each output
// channel). Padding stands for the real number 0: for the zero point.

constexpr std::array convolution_attributes = {
    AttributeSpecification{"auto_pad", AttributeKind::string, "\"NOTSET\""},
    AttributeSpecification{"dilations", AttributeKind::integers, "optional"},
    AttributeSpecification{"group", AttributeKind::integer, "1"},
    AttributeSpecification{"kernel_shape", AttributeKind::integers, "optional"},
    AttributeSpecification{"pads", AttributeKind::integers, "optional"},
    AttributeSpecification{"strides", AttributeKind::integers, "optional"},
};

/// Attributes of the convolution of reals with the same windows.
Result<Attributes> window_attributes(const Instance& in, const Shape& x, const Shape& weight) {
  OnnxCall call;
  call.name = "Conv";
  call.opset = 13;
  call.inputs = {{.type = {DataType::f32, x}}, {.type = {DataType::f32, weight}}};
  call.attributes = in.attributes;
  const std::vector<OnnxMatch> matches = onnx_candidates("", "Conv", call.opset);
  if (matches.empty()) return internal_error("there is no record of Conv");
  LEMMA_ASSIGN_OR_RETURN(ImportedCall imported,
                         import_call(*matches[0].record, *matches[0].mapping, call));
  return std::move(imported.attributes);
}

Result<TensorType> integer_convolution_type(const Instance& in, std::size_t weight) {
  for (const std::size_t input : {std::size_t{0}, weight})
    if (in.type(input) != DataType::u8 && in.type(input) != DataType::i8)
      return bad_input(fmt::format("input {} is {}, not u8 or i8", input, name(in.type(input))));
  LEMMA_ASSIGN_OR_RETURN(Attributes attributes,
                         window_attributes(in, in.shape(0), in.shape(weight)));
  // Compared where the attributes are read.
  if (in.attributes.has("kernel_shape")) {
    const Integers& kernel = in.attributes.integers("kernel_shape");
    for (std::size_t i = 0; i < kernel.size(); ++i) agree(in, in.shape(weight)[2 + i], kernel[i]);
  }
  const OperatorRecord& conv = record(operator_named("Conv"));
  const std::array inputs = {TensorType{DataType::f32, in.shape(0)},
                             TensorType{DataType::f32, in.shape(weight)}};
  LEMMA_ASSIGN_OR_RETURN(const Attributes complete,
                         complete_attributes(conv, inputs, std::move(attributes), 1));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<TensorType> types,
                         infer_types(conv, {inputs, complete, 1, in.constraints}));
  return types[0];
}

/// A parameter that is one number, or a vector over output channels.
Result<void> require_channel_parameter(const Instance& in, std::size_t input,
                                       const Dimension& channels) {
  if (!in.has(input) || is_single(in.shape(input))) return {};
  LEMMA_RETURN_IF_ERROR(require_rank(in, input, 1, 1));
  return require_same_size(in, in.shape(input)[0], channels, "channels");
}

Result<void> require_single(const Instance& in, std::size_t input) {
  if (!in.has(input) || is_single(in.shape(input))) return {};
  return unsupported(fmt::format("input {} with the shape {}", input, text(in.shape(input))));
}

/// A vector over channels as a tensor that is broadcast along axis `axis` of `rank`.
ValueId along(Composer& c, ValueId value, const Shape& shape, std::int64_t axis, std::size_t rank) {
  if (is_single(shape)) return c("Reshape", {value}, {{"shape", Shape{}}});
  Shape target(rank, Dimension(1));
  target[static_cast<std::size_t>(axis)] = shape[0];
  return c("Reshape", {value}, {{"shape", target}});
}

/// Elements less their zero point, as reals that hold them exactly: sums of products of 9-bit
/// integers are exact in f64 for more terms than a tensor can have.
ValueId centred(Composer& c, const Instance& in, std::span<const ValueId> inputs, std::size_t input,
                std::size_t zero, std::int64_t axis) {
  const ValueId elements = c.cast(inputs[input], DataType::f64);
  if (!in.has(zero)) return elements;
  const ValueId shift = along(c, inputs[zero], in.shape(zero), axis, in.rank(input));
  return c.subtract(elements, c.cast(shift, DataType::f64));
}

Types infer_convolution_integer(const Instance& in) {
  LEMMA_ASSIGN_OR_RETURN(TensorType type, integer_convolution_type(in, 1));
  LEMMA_RETURN_IF_ERROR(require_single(in, 2));
  LEMMA_RETURN_IF_ERROR(require_channel_parameter(in, 3, in.shape(1)[0]));
  type.data_type = DataType::i32;
  return std::vector<TensorType>{std::move(type)};
}

Compose compose_convolution_integer(Graph& graph, const Instance& in,
                                    std::span<const ValueId> inputs) {
  Composer c(graph);
  LEMMA_ASSIGN_OR_RETURN(Attributes attributes, window_attributes(in, in.shape(0), in.shape(1)));
  const ValueId x = centred(c, in, inputs, 0, 2, 0);
  const ValueId weight = centred(c, in, inputs, 1, 3, 0);
  return c.outputs({c.cast(c("Conv", {x, weight}, std::move(attributes)), DataType::i32)});
}

// ---- QLinearConv -------------------------------------------------------------------------------
//
// Inputs: x, its scale and zero point; weight, its scale and zero point; scale and zero point of
// the result; optionally a bias that counts units of x scale * weight scale.

Types infer_quantized_convolution(const Instance& in) {
  LEMMA_ASSIGN_OR_RETURN(TensorType type, integer_convolution_type(in, 3));
  const Dimension& channels = in.shape(3)[0];
  for (const std::size_t input : {1, 2, 6, 7}) LEMMA_RETURN_IF_ERROR(require_single(in, input));
  for (const std::size_t input : {4, 5})
    LEMMA_RETURN_IF_ERROR(require_channel_parameter(in, input, channels));
  if (in.has(8)) {
    LEMMA_RETURN_IF_ERROR(require_rank(in, 8, 1, 1));
    LEMMA_RETURN_IF_ERROR(require_same_size(in, in.shape(8)[0], channels, "channels"));
  }
  for (const std::size_t input : {1, 4, 6})
    LEMMA_RETURN_IF_ERROR(require_type(in, input, TypeSet::real));
  if (in.type(7) != DataType::u8 && in.type(7) != DataType::i8)
    return bad_input(fmt::format("the zero point of the result is {}", name(in.type(7))));
  type.data_type = in.type(7);
  return std::vector<TensorType>{std::move(type)};
}

Compose compose_quantized_convolution(Graph& graph, const Instance& in,
                                      std::span<const ValueId> inputs) {
  Composer c(graph);
  LEMMA_ASSIGN_OR_RETURN(Attributes attributes, window_attributes(in, in.shape(0), in.shape(3)));
  const std::size_t rank = in.rank(0);
  const ValueId x = centred(c, in, inputs, 0, 2, 0);
  const ValueId weight = centred(c, in, inputs, 3, 5, 0);
  ValueId sum = c("Conv", {x, weight}, std::move(attributes));
  if (in.has(8)) sum = c.add(sum, c.cast(c.channels(inputs[8], rank), DataType::f64));
  auto single = [&c](ValueId value) { return c("Reshape", {value}, {{"shape", Shape{}}}); };
  const ValueId scale = along(c, inputs[4], in.shape(4), 1, rank);
  const ValueId unit = c.multiply(single(inputs[1]), scale);
  const ValueId real = c.multiply(c.cast(sum, in.type(1)), unit);
  return c.outputs({c("QuantizeLinear", {real, single(inputs[6]), single(inputs[7])})});
}

constexpr std::array quantized_examples = {
    OperatorExample{"u8[N, 4, H, W]; f32[]; u8[]; u8[8, 4, 3, 3]; f32[]; u8[]; f32[]; u8[]"},
    OperatorExample{
        "u8[N, 4, H, W]; f32[]; u8[]; i8[8, 2, 3, 3]; f32[8]; i8[8]; f32[]; u8[]; i32[8]",
        "group=2"},
};

constexpr std::array quantized_convolution_records = {
    OperatorRecord{.name = "ConvInteger",
                   .summary = "convolution of 8-bit integers less zero points, in 32 bits",
                   .inputs = {2, 4},
                   .attributes = convolution_attributes,
                   .infer = infer_convolution_integer,
                   .compose = compose_convolution_integer,
                   .onnx = same_in_onnx<"ConvInteger", 10>},
    OperatorRecord{.name = "QLinearConv",
                   .summary = "convolution of quantized tensors, quantized",
                   .inputs = {8, 9},
                   .attributes = convolution_attributes,
                   .infer = infer_quantized_convolution,
                   .compose = compose_quantized_convolution,
                   .onnx = same_in_onnx<"QLinearConv", 10>,
                   .examples = quantized_examples},
};
static_assert(is_complete(quantized_convolution_records));

}  // namespace

std::span<const OperatorRecord> quantized_convolution() { return quantized_convolution_records; }

}  // namespace lemma::operators
