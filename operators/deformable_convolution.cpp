#include <array>

#include <fmt/format.h>

#include "operators/families.h"
#include "operators/helpers.h"
#include "operators/windows.h"

// A convolution whose windows read between the elements, each at a distance from its place that is an operand (ONNX,
// DeformConv; Dai et al., 2017; with a mask Zhu et al., 2019).

namespace lemma::operators {
namespace {

// Operands: x [batch, channels, ...], weight [results, channels / group, ...], offset [batch, offset groups * kernel
// elements * axes, ...], bias [results], mask [batch, offset groups * kernel elements, ...].
namespace deformable_operand {
enum : std::size_t { data, weight, offset, bias, mask };
}

constexpr std::array deformable_attributes = {
    AttributeSpecification{"strides", AttributeKind::dimensions, "optional"},
    AttributeSpecification{"pads", AttributeKind::dimensions, "optional"},
    AttributeSpecification{"dilations", AttributeKind::dimensions, "optional"},
    AttributeSpecification{"group", AttributeKind::dimension, "1"},
    AttributeSpecification{"offset_group", AttributeKind::dimension, "1"},
};

Shape deformable_kernel(const Instance& in) {
  return part(in.shape(deformable_operand::weight), 2, in.rank(deformable_operand::weight));
}

Result<Attributes> normalize_deformable(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 3));
  return complete_window(in, in.rank(0) - 2);
}

/// A positive number of groups that divides a size.
Result<void> check_groups(const Instance& in, std::string_view attribute, const Dimension& size) {
  const Dimension& groups = in.attributes.dimension(attribute);
  if (!in.is_at_most(1, groups))
    return bad_input(fmt::format("{} {} is not positive", attribute, groups.text()));
  if (!in.divides(groups, size))
    return bad_input(
        fmt::format("{} channels cannot be divided into {} groups", size.text(), groups.text()));
  return {};
}

/// Offsets or a mask: so many for each group of offsets, at each window.
Result<void> check_for_windows(const Instance& in, std::size_t operand, const Dimension& count,
                               const Shape& result) {
  LEMMA_RETURN_IF_ERROR(require_rank(in, operand, in.rank(0), in.rank(0)));
  Shape wanted = result;
  wanted[1] = in.attributes.dimension("offset_group") * count;
  for (std::size_t axis = 0; axis < wanted.size(); ++axis)
    LEMMA_RETURN_IF_ERROR(
        require_same_size(in, in.shape(operand)[axis], wanted[axis],
                          fmt::format("sizes of axis {} of input {}", axis, operand)));
  return {};
}

Result<std::vector<TensorType>> infer_deformable(const Instance& in) {
  using namespace deformable_operand;
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::real));
  LEMMA_RETURN_IF_ERROR(require_rank(in, weight, in.rank(data), in.rank(data)));
  const Shape &image = in.shape(data), &filters = in.shape(weight);
  LEMMA_RETURN_IF_ERROR(check_groups(in, "group", filters[0]));
  LEMMA_RETURN_IF_ERROR(check_groups(in, "offset_group", image[1]));
  LEMMA_RETURN_IF_ERROR(require_same_size(in, filters[1] * in.attributes.dimension("group"),
                                          image[1], "channels of weight and input"));
  LEMMA_RETURN_IF_ERROR(require_windows(in));
  Shape shape = {image[0], filters[0]};
  const Shape kernel = deformable_kernel(in);
  for (const WindowAxis& axis : window_axes(in, kernel)) {
    LEMMA_ASSIGN_OR_RETURN(Dimension count, window_count(in, axis, false));
    shape.push_back(std::move(count));
  }
  const Dimension elements = element_count(kernel);
  const Dimension axes = static_cast<std::int64_t>(kernel.size());
  LEMMA_RETURN_IF_ERROR(check_for_windows(in, offset, elements * axes, shape));
  if (in.has(mask)) LEMMA_RETURN_IF_ERROR(check_for_windows(in, mask, elements, shape));
  if (in.has(bias)) {
    LEMMA_RETURN_IF_ERROR(require_rank(in, bias, 1, 1));
    LEMMA_RETURN_IF_ERROR(
        require_same_size(in, in.shape(bias)[0], filters[0], "biases and results"));
  }
  return std::vector<TensorType>{{in.type(data), std::move(shape)}};
}

/// Along each axis the two elements around the position, by their nearness; 0 outside.
Definition define_deformable(const Instance& in) {
  using namespace deformable_operand;
  DefinitionBuilder d;
  const DataType type = in.type(data);
  const Shape kernel = deformable_kernel(in);
  const std::vector<WindowAxis> windows = window_axes(in, kernel);
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_deformable));
  const Dimension &group = in.attributes.dimension("group"),
                  &offset_group = in.attributes.dimension("offset_group");
  std::vector<Expression> bound, of_filter = {axes[1]};
  of_filter.push_back(reduction_index(d, in.shape(weight)[1], bound));
  for (const Dimension& size : kernel) of_filter.push_back(reduction_index(d, size, bound));
  const Expression channel =
      d.floor_div(axes[1], floor_div(in.shape(weight)[0], group)) * in.shape(weight)[1] +
      of_filter[1];
  const std::vector<Expression> in_kernel(of_filter.begin() + 2, of_filter.end());
  // The number of the kernel's element among those of all groups of offsets.
  const Expression element =
      d.floor_div(channel, floor_div(in.shape(data)[1], offset_group)) * element_count(kernel) +
      flat_index(d, kernel, in_kernel);

  std::vector<Expression> at_window = axes, place = {axes[0], channel};
  Expression factor = d.read(weight, type, of_filter), inside = d.integer(1, DataType::boolean);
  const Dimension count = static_cast<std::int64_t>(kernel.size());
  for (std::size_t i = 0; i < windows.size(); ++i) {
    at_window[1] = element * count + Dimension(static_cast<std::int64_t>(i));
    const Expression start = window_position(d, windows[i], axes[2 + i], in_kernel[i]);
    const Expression position = d.cast(start, type) + d.read(offset, type, at_window);
    const Expression below = d.apply(ScalarFunction::floor, position);
    const Expression tap = d.variable(2), share = position - below;
    bound.push_back(tap);
    place.push_back(d.cast(below, DataType::i64) + tap);
    inside = inside && d.in_range(place.back(), in.shape(data)[2 + i]);
    factor = factor * d.select(tap == d.integer(0), d.real(1, type) - share, share);
  }
  if (in.has(mask)) {
    at_window[1] = element;
    factor = factor * d.read(mask, type, at_window);
  }
  const Expression read = d.select(inside, d.read(data, type, place), d.real(0, type));
  Expression value = d.sum(bound, read * factor);
  if (in.has(bias)) value = value + d.read(bias, type, {axes[1]});
  d.output(axes, value);
  return std::move(d).finish();
}

/// kernel_shape says nothing that the weight does not say.
Result<ImportedCall> import_deformable(const OnnxCall& call, ImportedCall imported) {
  LEMMA_RETURN_IF_ERROR(only_attributes(
      call, {"dilations", "group", "kernel_shape", "offset_group", "pads", "strides"}));
  const AttributeValue* given = call.attributes.find("kernel_shape");
  if (given == nullptr) return imported;
  const auto* sizes = std::get_if<Integers>(given);
  const bool is_known = call.inputs.size() > 1 && call.inputs[1].type.shape;
  if (!is_known) return unsupported("the shape of the weight is unknown");
  const Shape& filters = *call.inputs[1].type.shape;
  bool fits = sizes != nullptr && sizes->size() + 2 == filters.size();
  for (std::size_t i = 0; fits && i < sizes->size(); ++i)
    fits = agree(filters[2 + i], Dimension((*sizes)[i])).has_value();
  if (!fits)
    return bad_input(fmt::format("kernel_shape differs from the weight's shape {}", text(filters)));
  return imported;
}

Result<ExportedCall> export_deformable(const Instance& in, int, ExportedCall exported) {
  if (const auto sizes = constant_sizes(deformable_kernel(in)))
    exported.attributes.set("kernel_shape", *sizes);
  return exported;
}

constexpr std::array deformable_examples = {
    OperatorExample{"f32[N, 4, 6, 6]; f32[8, 4, 3, 3]; f32[N, 18, 4, 4]"},
    OperatorExample{"f32[N, 4, 6, 6]; f32[8, 2, 3, 3]; f32[N, 36, 4, 4]; f32[8]; f32[N, 18, 4, 4]",
                    "group=2; offset_group=2"},
};
constexpr std::array deformable_onnx = {OnnxMapping{.name = "DeformConv",
                                                    .since = 19,
                                                    .import_hook = import_deformable,
                                                    .export_hook = export_deformable}};

constexpr std::array deformable_records = {
    OperatorRecord{.name = "DeformConv",
                   .summary = "a convolution whose windows read at distances that an operand gives",
                   .inputs = {3, 5},
                   .attributes = deformable_attributes,
                   .infer = infer_deformable,
                   .define = define_deformable,
                   .normalize = normalize_deformable,
                   .onnx = deformable_onnx,
                   .examples = deformable_examples},
};
static_assert(is_complete(deformable_records));

}  // namespace

std::span<const OperatorRecord> deformable() { return deformable_records; }

}  // namespace lemma::operators
