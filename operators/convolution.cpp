#include "operators/families.h"
#include "operators/helpers.h"
#include "operators/windows.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

namespace lemma::operators {
namespace {

constexpr AttributeSpecification strides_attribute = {"strides", AttributeKind::dimensions,
                                                      "optional"};
constexpr AttributeSpecification pads_attribute = {"pads", AttributeKind::dimensions, "optional"};
constexpr AttributeSpecification dilations_attribute = {"dilations", AttributeKind::dimensions,
                                                        "optional"};
constexpr AttributeSpecification conv_group_attribute = {"group", AttributeKind::dimension, "1",
                                                         AttributeRole::groups};
constexpr AttributeSpecification group_attribute = {"group", AttributeKind::dimension, "1"};

Shape kernel_of(const Shape& weight) { return part(weight, 2, weight.size()); }

/// The ONNX attribute kernel_shape says nothing that the weight does not say.
Result<void> check_kernel_shape(const OnnxCall& call, const Shape& weight) {
  const AttributeValue* given = call.attributes.find("kernel_shape");
  if (given == nullptr) return {};
  const auto* sizes = std::get_if<Integers>(given);
  if (sizes == nullptr || sizes->size() + 2 != weight.size())
    return bad_input("kernel_shape does not have a size for each spatial axis of the weight");
  for (std::size_t i = 0; i < sizes->size(); ++i)
    if (!agree(weight[2 + i], Dimension((*sizes)[i])))
      return bad_input(
          fmt::format("kernel_shape differs from the weight's shape {}", text(weight)));
  return {};
}

Result<Shape> weight_shape(const OnnxCall& call) {
  if (call.inputs.size() < 2 || !call.inputs[1].type.shape)
    return unsupported("the shape of the weight is unknown");
  if (call.inputs[1].type.shape->size() < 3)
    return bad_input(fmt::format("the weight has the shape {}, but needs at least 3 axes",
                                 text(*call.inputs[1].type.shape)));
  return *call.inputs[1].type.shape;
}

Result<ExportedCall> export_kernel_shape(const Instance& in, int, ExportedCall standard) {
  if (const auto sizes = constant_sizes(kernel_of(in.shape(1))))
    standard.attributes.set("kernel_shape", *sizes);
  return standard;
}

/// Input and weight have the same three or more axes; the bias is a vector of `channels`.
Result<void> check_operands(const Instance& in, const Dimension& channels) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::real));
  if (!in.has(2)) return {};
  if (in.rank(2) != 1 || !agree(in, in.shape(2)[0], channels))
    return bad_input(
        fmt::format("the bias has the shape {}, not [{}]", text(in.shape(2)), channels.text()));
  return {};
}

Result<Attributes> normalize_convolution(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 3));
  if (in.rank(1) != in.rank(0))
    return bad_input(fmt::format("the input {} and the weight {} have different numbers of axes",
                                 text(in.shape(0)), text(in.shape(1))));
  return complete_window(in, in.rank(0) - 2);
}

/// size / group, which must be exact unless it depends on symbols.
Result<Dimension> per_group(const Instance& in, const Dimension& size, const char* what) {
  const Dimension& group = in.attributes.dimension("group");
  if (!in.is_at_most(1, group))
    return bad_input(fmt::format("group {} is not positive", group.text()));
  if (!in.divides(group, size))
    return bad_input(
        fmt::format("{} {} cannot be divided into {} groups", size.text(), what, group.text()));
  return floor_div(size, group);
}

// ---- Conv -------------------------------------------------------------------------------------

Result<std::vector<TensorType>> infer_conv(const Instance& in) {
  const Shape &data = in.shape(0), &weight = in.shape(1);
  const Dimension& group = in.attributes.dimension("group");
  LEMMA_RETURN_IF_ERROR(check_operands(in, weight[0]));
  LEMMA_RETURN_IF_ERROR(per_group(in, weight[0], "output channels"));
  if (!agree(in, weight[1] * group, data[1]))
    return bad_input(fmt::format("input {} has {} channels, but weight {} with {} groups needs {}",
                                 text(data), data[1].text(), text(weight), group.text(),
                                 (weight[1] * group).text()));
  Shape shape = {data[0], weight[0]};
  LEMMA_RETURN_IF_ERROR(require_windows(in));
  for (const WindowAxis& axis : window_axes(in, kernel_of(weight))) {
    LEMMA_ASSIGN_OR_RETURN(Dimension count, window_count(in, axis, false));
    shape.push_back(std::move(count));
  }
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}

Definition define_conv(const Instance& in) {
  DefinitionBuilder d;
  const Shape& weight_shape = in.shape(1);
  const Dimension& group = in.attributes.dimension("group");
  const std::vector<WindowAxis> windows = window_axes(in, kernel_of(weight_shape));
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_conv));
  std::vector<Expression> bound;
  const Expression c = reduction_index(d, weight_shape[1], bound);
  Expression channel = c;
  if (!group.is(1))
    channel = d.floor_div(axes[1], *per_group(in, weight_shape[0], "")) * weight_shape[1] + c;
  std::vector<Expression> position = {axes[0], channel}, weight = {axes[1], c};
  Expression guard = d.integer(1, DataType::boolean);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const Expression k = reduction_index(d, windows[i].kernel, bound);
    position.push_back(window_position(d, windows[i], axes[2 + i], k));
    weight.push_back(k);
    guard = guard && inside(d, windows[i], position.back(), false);
  }
  const Expression zero = d.constant(0, in.type(0));
  const Expression product = d.read(0, in.type(0), position) * d.read(1, in.type(1), weight);
  Expression value = d.sum(bound, d.select(guard, product, zero));
  if (in.has(2)) value = value + d.read(2, in.type(2), {axes[1]});
  d.output(axes, value);
  return std::move(d).finish();
}

Result<ImportedCall> import_conv(const OnnxCall& call, ImportedCall standard) {
  LEMMA_RETURN_IF_ERROR(
      only_attributes(call, {"auto_pad", "kernel_shape", "strides", "pads", "dilations", "group"}));
  LEMMA_ASSIGN_OR_RETURN(const Shape weight, weight_shape(call));
  LEMMA_RETURN_IF_ERROR(check_kernel_shape(call, weight));
  LEMMA_RETURN_IF_ERROR(resolve_auto_pad(call, kernel_of(weight), standard));
  return standard;
}

constexpr std::array conv_attributes = {strides_attribute, pads_attribute, dilations_attribute,
                                        conv_group_attribute};
constexpr std::array conv_onnx = {OnnxMapping{
    .name = "Conv", .since = 1, .import_hook = import_conv, .export_hook = export_kernel_shape}};

// ---- ConvTranspose ----------------------------------------------------------------------------

Result<Attributes> normalize_transposed(const Instance& in) {
  LEMMA_ASSIGN_OR_RETURN(Attributes attributes, normalize_convolution(in));
  const std::size_t spatial = in.rank(0) - 2;
  if (!attributes.has("output_padding"))
    attributes.set("output_padding", Shape(spatial, Dimension(0)));
  if (attributes.dimensions("output_padding").size() != spatial)
    return bad_input(fmt::format("output_padding {} does not have {} elements",
                                 text(attributes.dimensions("output_padding")), spatial));
  return attributes;
}

/// Size of an output axis before padding is taken away.
Dimension transposed_size(const WindowAxis& axis, const Dimension& output_padding) {
  return axis.stride * (axis.size - 1) + axis.span() + output_padding;
}

Result<std::vector<TensorType>> infer_transposed(const Instance& in) {
  const Shape &data = in.shape(0), &weight = in.shape(1);
  const Dimension& group = in.attributes.dimension("group");
  const Dimension channels = weight[1] * group;
  LEMMA_RETURN_IF_ERROR(check_operands(in, channels));
  LEMMA_RETURN_IF_ERROR(per_group(in, weight[0], "input channels"));
  if (!agree(in, data[1], weight[0]))
    return bad_input(fmt::format("input {} has {} channels, but weight {} needs {}", text(data),
                                 data[1].text(), text(weight), weight[0].text()));
  LEMMA_RETURN_IF_ERROR(require_windows(in));
  Shape shape = {data[0], channels};
  const std::vector<WindowAxis> windows = window_axes(in, kernel_of(weight));
  for (std::size_t i = 0; i < windows.size(); ++i)
    shape.push_back(transposed_size(windows[i], in.attributes.dimensions("output_padding")[i]) -
                    windows[i].pad_begin - windows[i].pad_end);
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}

/// Every input position adds the kernel, scaled, to the output; seen from the output, element `o`
/// gets w[k] from the input position p with p * stride + k * dilation = o + pad, if there is one.
Definition define_transposed(const Instance& in) {
  DefinitionBuilder d;
  const Shape& weight_shape = in.shape(1);
  const Dimension& group = in.attributes.dimension("group");
  const std::vector<WindowAxis> windows = window_axes(in, kernel_of(weight_shape));
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_transposed));
  const Dimension inputs_per_group = *per_group(in, weight_shape[0], "");
  std::vector<Expression> bound;
  Expression channel = reduction_index(d, inputs_per_group, bound);
  Expression filter = axes[1];
  if (!group.is(1)) {
    channel = d.floor_div(axes[1], weight_shape[1]) * inputs_per_group + channel;
    filter = d.floor_mod(axes[1], weight_shape[1]);
  }
  std::vector<Expression> position = {axes[0], channel}, weight = {channel, filter};
  Expression guard = d.integer(1, DataType::boolean);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const Expression k = reduction_index(d, windows[i].kernel, bound);
    const Expression from = axes[2 + i] + windows[i].pad_begin - k * windows[i].dilation;
    if (!windows[i].stride.is(1))
      guard = guard && (d.floor_mod(from, windows[i].stride) == d.integer(0));
    position.push_back(d.floor_div(from, windows[i].stride));
    weight.push_back(k);
    guard = guard && d.in_range(position.back(), windows[i].size);
  }
  const Expression product = d.read(0, in.type(0), position) * d.read(1, in.type(1), weight);
  Expression value = d.sum(bound, d.select(guard, product, d.constant(0, in.type(0))));
  if (in.has(2)) value = value + d.read(2, in.type(2), {axes[1]});
  d.output(axes, value);
  return std::move(d).finish();
}

/// The output sizes that the call asks for: output_shape, or input times stride for SAME padding.
Result<std::optional<Shape>> wanted_sizes(const OnnxCall& call, const Shape& strides) {
  const std::string_view mode = string_or(call, "auto_pad", "NOTSET");
  if (const AttributeValue* given = call.attributes.find("output_shape")) {
    const auto* sizes = std::get_if<Integers>(given);
    if (sizes == nullptr || sizes->size() < strides.size())
      return bad_input("output_shape does not have a size for each spatial axis");
    // Some exporters also write batch and channels.
    return Shape(sizes->end() - static_cast<long>(strides.size()), sizes->end());
  }
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") return std::optional<Shape>();
  if (!call.inputs[0].type.shape) return unsupported("automatic padding of an unknown shape");
  Shape sizes;
  for (std::size_t i = 0; i < strides.size(); ++i)
    sizes.push_back((*call.inputs[0].type.shape)[2 + i] * strides[i]);
  return sizes;
}

/// Pads, or additional output padding, that make the output have the sizes wanted.
Result<void> set_transposed_pads(const OnnxCall& call, const Shape& weight, const Shape& sizes,
                                 Attributes& attributes) {
  const std::size_t spatial = weight.size() - 2;
  Shape pads(2 * spatial), output_padding = attributes.dimensions("output_padding");
  const std::vector<TensorType> types = {call.inputs[0].type};
  attributes.set("pads", Shape(2 * spatial, Dimension(0)));
  const auto windows = window_axes({types, attributes}, kernel_of(weight));
  const bool upper = string_or(call, "auto_pad", "NOTSET") == "SAME_UPPER";
  for (std::size_t i = 0; i < spatial; ++i) {
    const Dimension total = transposed_size(windows[i], output_padding[i]) - sizes[i];
    if (!total.is_constant())
      return unsupported(
          fmt::format("padding for an output of {} depends on run time", sizes[i].text()));
    const std::int64_t excess = std::max<std::int64_t>(total.offset(), 0);
    output_padding[i] = output_padding[i] + (excess - total.offset());
    const std::int64_t small = excess / 2;
    pads[i] = upper ? small : excess - small;
    pads[spatial + i] = upper ? excess - small : small;
  }
  attributes.set("pads", std::move(pads));
  attributes.set("output_padding", std::move(output_padding));
  return {};
}

Result<ImportedCall> import_transposed(const OnnxCall& call, ImportedCall standard) {
  LEMMA_RETURN_IF_ERROR(
      only_attributes(call, {"auto_pad", "kernel_shape", "strides", "pads", "dilations", "group",
                             "output_padding", "output_shape"}));
  LEMMA_ASSIGN_OR_RETURN(const Shape weight, weight_shape(call));
  LEMMA_RETURN_IF_ERROR(check_kernel_shape(call, weight));
  const std::size_t spatial = weight.size() - 2;
  Attributes& attributes = standard.attributes;
  if (string_or(call, "auto_pad", "NOTSET") == "VALID") attributes.erase("pads");
  const auto complete = [&](const char* name, std::int64_t otherwise) -> Result<void> {
    if (!attributes.has(name)) attributes.set(name, Shape(spatial, Dimension(otherwise)));
    if (attributes.dimensions(name).size() == spatial) return {};
    return bad_input(fmt::format("{} does not have {} elements", name, spatial));
  };
  LEMMA_RETURN_IF_ERROR(complete("strides", 1));
  LEMMA_RETURN_IF_ERROR(complete("dilations", 1));
  LEMMA_RETURN_IF_ERROR(complete("output_padding", 0));
  const auto& data = call.inputs[0].type.shape;
  if (data && data->size() != weight.size())
    return bad_input("the input and the weight have different numbers of axes");
  LEMMA_ASSIGN_OR_RETURN(const std::optional<Shape> sizes,
                         wanted_sizes(call, attributes.dimensions("strides")));
  if (!sizes) return standard;
  if (!data) return unsupported("padding for an input of unknown rank");
  LEMMA_RETURN_IF_ERROR(set_transposed_pads(call, weight, *sizes, attributes));
  return standard;
}

constexpr std::array transposed_attributes = {
    strides_attribute, pads_attribute, dilations_attribute, group_attribute,
    AttributeSpecification{"output_padding", AttributeKind::dimensions, "optional"}};
constexpr std::array transposed_onnx = {OnnxMapping{.name = "ConvTranspose",
                                                    .since = 1,
                                                    .import_hook = import_transposed,
                                                    .export_hook = export_kernel_shape}};

constexpr std::array convolution_records = {
    OperatorRecord{.name = "Conv",
                   .summary = "convolution over any number of spatial axes, with groups and bias",
                   .inputs = {2, 3},
                   .outputs = {1, 1},
                   .attributes = conv_attributes,
                   .flags = reads_inside | spatial,
                   .infer = infer_conv,
                   .define = define_conv,
                   .normalize = normalize_convolution,
                   .onnx = conv_onnx},
    OperatorRecord{.name = "ConvTranspose",
                   .summary = "transposed convolution: every input element adds a scaled kernel",
                   .inputs = {2, 3},
                   .outputs = {1, 1},
                   .attributes = transposed_attributes,
                   .infer = infer_transposed,
                   .define = define_transposed,
                   .normalize = normalize_transposed,
                   .onnx = transposed_onnx},
};
static_assert(is_complete(convolution_records));

}  // namespace

std::span<const OperatorRecord> convolution() { return convolution_records; }

}  // namespace lemma::operators
