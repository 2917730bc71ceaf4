#include "ir/operators/families.h"
#include "ir/operators/helpers.h"
#include "ir/operators/windows.h"

#include <array>

#include <fmt/format.h>

namespace lemma::operators {
namespace {

constexpr AttributeSpecification strides_attribute = {"strides", AttributeKind::dimensions,
                                                      "optional"};
constexpr AttributeSpecification pads_attribute = {"pads", AttributeKind::dimensions, "optional"};
constexpr AttributeSpecification dilations_attribute = {"dilations", AttributeKind::dimensions,
                                                        "optional"};
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
      return bad_input(fmt::format("kernel_shape differs from the weight's shape {}", text(weight)));
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
  if (in.rank(2) != 1 || !agree(in.shape(2)[0], channels))
    return bad_input(fmt::format("the bias has the shape {}, not [{}]", text(in.shape(2)),
                                 channels.text()));
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
Result<Dimension> per_group(const Dimension& size, const Dimension& group, const char* what) {
  if (group.is_constant() && group.offset() < 1)
    return bad_input(fmt::format("group {} is not positive", group.text()));
  if (const auto quotient = exact_div(size, group)) return *quotient;
  if (size.is_constant() && group.is_constant())
    return bad_input(fmt::format("{} {} cannot be divided into {} groups", size.text(), what,
                                 group.text()));
  return floor_div(size, group);
}

// ---- Conv -------------------------------------------------------------------------------------

Result<std::vector<TensorType>> infer_conv(const Instance& in) {
  const Shape &data = in.shape(0), &weight = in.shape(1);
  const Dimension& group = in.attributes.dimension("group");
  LEMMA_RETURN_IF_ERROR(check_operands(in, weight[0]));
  LEMMA_RETURN_IF_ERROR(per_group(weight[0], group, "output channels"));
  if (!agree(data[1], weight[1] * group))
    return bad_input(fmt::format("input {} has {} channels, but weight {} with {} groups needs {}",
                                 text(data), data[1].text(), text(weight), group.text(),
                                 (weight[1] * group).text()));
  Shape shape = {data[0], weight[0]};
  for (const WindowAxis& axis : window_axes(in, kernel_of(weight))) {
    LEMMA_ASSIGN_OR_RETURN(Dimension count, window_count(axis, false));
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
    channel = d.floor_div(axes[1], *per_group(weight_shape[0], group, "")) * weight_shape[1] + c;
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
  LEMMA_RETURN_IF_ERROR(only_attributes(
      call, {"auto_pad", "kernel_shape", "strides", "pads", "dilations", "group"}));
  LEMMA_ASSIGN_OR_RETURN(const Shape weight, weight_shape(call));
  LEMMA_RETURN_IF_ERROR(check_kernel_shape(call, weight));
  LEMMA_RETURN_IF_ERROR(resolve_auto_pad(call, kernel_of(weight), standard));
  return standard;
}

constexpr std::array conv_attributes = {strides_attribute, pads_attribute, dilations_attribute,
                                        group_attribute};
constexpr std::array conv_onnx = {OnnxMapping{.name = "Conv",
                                              .since = 1,
                                              .import_hook = import_conv,
                                              .export_hook = export_kernel_shape}};

constexpr std::array records = {
    OperatorRecord{.name = "Conv",
                   .summary = "convolution over any number of spatial axes, with groups and bias",
                   .inputs = {2, 3},
                   .outputs = {1, 1},
                   .attributes = conv_attributes,
                   .infer = infer_conv,
                   .define = define_conv,
                   .normalize = normalize_convolution,
                   .onnx = conv_onnx},
};
static_assert(is_complete(records));

}  // namespace

std::span<const OperatorRecord> convolution() { return records; }

}  // namespace lemma::operators
