#include <array>

#include <fmt/format.h>

#include "ir/runtime_layout.h"
#include "operators/composition.h"
#include "operators/elementwise.h"
#include "operators/families.h"
#include "operators/helpers.h"
#include "operators/sizes.h"

// The blocked layout in which ONNX Runtime computes convolutions and pools over two axes on x86 (NCHWc): the channels
// of an image [N, C, H, W] in blocks of 16, which is the number of f32 in a vector of AVX-512, as a tensor
// [N, ceil(C / 16), H, W, 16]. The last block is filled up with zeros. ONNX Runtime chooses the layout when it loads a
// model, and moves between both layouts where a neighbor does not know it. These operators say what that costs; no
// file has them (ir/runtime_layout.h).

namespace lemma::operators {
namespace {

using Compose = Result<std::vector<ValueId>>;
using Types = Result<std::vector<TensorType>>;

constexpr std::int64_t block = 16;

const OperatorRecord& plain(std::string_view name) { return record(operator_named(name)); }

// ---- BlockChannels -----------------------------------------------------------------------------

Shape blocked_shape(const Shape& image) {
  return {image[0], ceil_div(image[1], block), image[2], image[3], Dimension(block)};
}

Types infer_block(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::real));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 4, 4));
  return std::vector<TensorType>{{in.type(0), blocked_shape(in.shape(0))}};
}

Definition define_block(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_block));
  const Expression channel = axes[1] * Dimension(block) + axes[4];
  const Expression element = d.read(0, in.type(0), {axes[0], channel, axes[2], axes[3]});
  d.output(axes, d.select(channel < d.extent(in.shape(0)[1]), element, d.constant(0, in.type(0))));
  return std::move(d).finish();
}

// ---- UnblockChannels ---------------------------------------------------------------------------

constexpr std::array unblock_attributes = {
    AttributeSpecification{"channels", AttributeKind::dimension}};

Result<void> require_blocks(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::real));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 5, 5));
  if (!agree(in, in.shape(0)[4], block))
    return bad_input(fmt::format("blocks of {} channels, not {}", in.shape(0)[4].text(), block));
  return {};
}

/// The image that so many channels of the blocks are.
Result<TensorType> unblocked(const Instance& in, const Dimension& channels) {
  LEMMA_RETURN_IF_ERROR(require_blocks(in));
  const Shape& x = in.shape(0);
  if (!in.is_at_most(0, channels) || !in.is_at_most(channels, x[1] * Dimension(block)))
    return bad_input(
        fmt::format("{} blocks do not have {} channels", x[1].text(), channels.text()));
  return TensorType{in.type(0), Shape{x[0], channels, x[2], x[3]}};
}

Types infer_unblock(const Instance& in) {
  LEMMA_ASSIGN_OR_RETURN(TensorType type, unblocked(in, in.attributes.dimension("channels")));
  return std::vector<TensorType>{std::move(type)};
}

Definition define_unblock(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_unblock));
  d.output(axes, d.read(0, in.type(0),
                        {axes[0], d.floor_div(axes[1], block), axes[2], axes[3],
                         d.floor_mod(axes[1], block)}));
  return std::move(d).finish();
}

// ---- What is computed in blocks ----------------------------------------------------------------

/// The channels that the convolution reads; those of all blocks for a pool.
Dimension channels_read(const Instance& in) {
  return in.inputs.size() > 1 ? in.shape(1)[1] * in.attributes.dimension("group")
                              : in.shape(0)[1] * Dimension(block);
}

/// The application of the plain operator to the image.
Result<std::vector<TensorType>> plain_operands(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_blocks(in));
  if (in.inputs.size() > 1) LEMMA_RETURN_IF_ERROR(require_rank(in, 1, 4, 4));
  std::vector<TensorType> types(in.inputs.begin(), in.inputs.end());
  LEMMA_ASSIGN_OR_RETURN(types[0], unblocked(in, channels_read(in)));
  return types;
}

Instance with_operands(const Instance& in, const std::vector<TensorType>& operands) {
  Instance result = in;
  result.inputs = operands;
  return result;
}

template <StaticName op>
Types infer_in_blocks(const Instance& in) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<TensorType> operands, plain_operands(in));
  LEMMA_ASSIGN_OR_RETURN(std::vector<TensorType> types,
                         plain(op.view()).infer(with_operands(in, operands)));
  types[0].shape = blocked_shape(*types[0].shape);
  return types;
}

template <StaticName op>
Result<Attributes> normalize_in_blocks(const Instance& in) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<TensorType> operands, plain_operands(in));
  return plain(op.view()).normalize(with_operands(in, operands));
}

template <StaticName op>
Compose compose_in_blocks(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  std::vector<ValueId> operands(inputs.begin(), inputs.end());
  operands[0] = c("UnblockChannels", {inputs[0]}, {{"channels", channels_read(in)}});
  const ValueId value = c(op.view(), std::move(operands), in.attributes);
  return c.outputs({c("BlockChannels", {value})});
}

constexpr AttributeSpecification blocked_strides = {"strides", AttributeKind::dimensions,
                                                    "optional"};
constexpr AttributeSpecification blocked_pads = {"pads", AttributeKind::dimensions, "optional"};
constexpr AttributeSpecification blocked_dilations = {"dilations", AttributeKind::dimensions,
                                                      "optional"};
constexpr AttributeSpecification blocked_kernel = {"kernel_shape", AttributeKind::dimensions};
constexpr AttributeSpecification blocked_ceil_mode = {"ceil_mode", AttributeKind::integer, "0"};

constexpr std::array blocked_conv_attributes = {
    blocked_strides, blocked_pads, blocked_dilations,
    AttributeSpecification{"group", AttributeKind::dimension, "1", AttributeRole::plain}};
constexpr std::array blocked_max_pool_attributes = {blocked_kernel, blocked_strides, blocked_pads,
                                                    blocked_dilations, blocked_ceil_mode};
constexpr std::array blocked_average_pool_attributes = {
    blocked_kernel,    blocked_strides,
    blocked_pads,      blocked_dilations,
    blocked_ceil_mode, AttributeSpecification{"count_include_pad", AttributeKind::integer, "0"}};

template <StaticName name, StaticName op>
constexpr OperatorRecord record_in_blocks(std::string_view summary,
                                          std::span<const AttributeSpecification> attributes) {
  OperatorRecord result = {.name = name.view(), .summary = summary};
  result.attributes = attributes;
  result.runtime = onnx_runtime_layout;
  result.infer = infer_in_blocks<op>;
  result.compose = compose_in_blocks<op>;
  if (!attributes.empty()) result.normalize = normalize_in_blocks<op>;
  return result;
}

constexpr OperatorRecord blocked_conv() {
  OperatorRecord result = record_in_blocks<"BlockedConv", "Conv">(
      "a convolution over two axes in blocks of channels", blocked_conv_attributes);
  result.inputs = {2, 3};
  return result;
}

constexpr std::array channel_block_records = {
    OperatorRecord{.name = "BlockChannels",
                   .summary = "the channels of an image in blocks of 16, the last one filled up",
                   .flags = data_movement | linear,
                   .infer = infer_block,
                   .define = define_block,
                   .runtime = onnx_runtime_layout},
    OperatorRecord{.name = "UnblockChannels",
                   .summary = "the image that the first channels of blocks are",
                   .attributes = unblock_attributes,
                   .flags = data_movement | linear,
                   .infer = infer_unblock,
                   .define = define_unblock,
                   .runtime = onnx_runtime_layout},
    blocked_conv(),
    record_in_blocks<"BlockedMaxPool", "MaxPool">("maximum over sliding windows in blocks",
                                                  blocked_max_pool_attributes),
    record_in_blocks<"BlockedAveragePool", "AveragePool">("mean over sliding windows in blocks",
                                                          blocked_average_pool_attributes),
    record_in_blocks<"BlockedGlobalAveragePool", "GlobalAveragePool">(
        "mean over both spatial axes in blocks", {}),
};
static_assert(is_complete(channel_block_records));

}  // namespace

std::span<const OperatorRecord> channel_blocks() { return channel_block_records; }

}  // namespace lemma::operators
