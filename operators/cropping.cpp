#include <array>
#include <numeric>

#include <fmt/format.h>

#include "operators/composition.h"
#include "operators/families.h"
#include "operators/helpers.h"
#include "operators/sizes.h"

// Tensors brought to other sizes around their middles, and images from the windows over them.

namespace lemma::operators {
namespace {

using Compose = Result<std::vector<ValueId>>;
using Types = Result<std::vector<TensorType>>;

// ---- CenterCropPad -----------------------------------------------------------------------------

constexpr std::array center_attributes = {
    AttributeSpecification{"axes", AttributeKind::integers, "optional"},
    AttributeSpecification{"shape", AttributeKind::dimensions},
};

/// The size of each axis. Attributes `axes` are gone after normalization.
Result<Attributes> normalize_center(const Instance& in) {
  Attributes attributes = in.attributes;
  const Shape given = attributes.dimensions("shape");
  const auto rank = static_cast<std::int64_t>(in.rank(0));
  Integers axes(in.rank(0));
  std::iota(axes.begin(), axes.end(), 0);
  if (attributes.has("axes")) axes = attributes.integers("axes");
  if (given.size() != axes.size())
    return bad_input(fmt::format("{} sizes are given for {} axes", given.size(), axes.size()));
  Shape shape = in.shape(0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < -rank || axes[i] >= rank)
      return bad_input(fmt::format("axis {} is out of range for {} axes", axes[i], rank));
    shape[static_cast<std::size_t>(axes[i] < 0 ? axes[i] + rank : axes[i])] = given[i];
  }
  attributes.set("shape", std::move(shape));
  attributes.erase("axes");
  return attributes;
}

/// How much longer an axis becomes; which half of an odd number it is does not depend on anything else.
Result<Dimension> growth(const Dimension& from, const Dimension& to) {
  const Dimension result = to - from;
  if (!result.is_constant()) return unsupported("a size that is not known");
  return result;
}

Types infer_center(const Instance& in) {
  const Shape& shape = in.attributes.dimensions("shape");
  if (shape.size() != in.rank(0)) return bad_input("the shape has another number of axes");
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    LEMMA_RETURN_IF_ERROR(growth(in.shape(0)[axis], shape[axis]));
  return std::vector<TensorType>{{in.type(0), shape}};
}

Compose compose_center(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  const Shape& shape = in.attributes.dimensions("shape");
  Shape starts, ends, before(shape.size(), Dimension(0)), after(shape.size(), Dimension(0));
  Integers axes;
  bool pads = false;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    LEMMA_ASSIGN_OR_RETURN(const Dimension more, growth(in.shape(0)[axis], shape[axis]));
    if (more.offset() < 0) {
      const Dimension start = -more.offset() / 2;
      axes.push_back(static_cast<std::int64_t>(axis));
      starts.push_back(start);
      ends.push_back(start + shape[axis]);
    } else if (more.offset() > 0) {
      pads = true;
      before[axis] = more.offset() / 2;
      after[axis] = more - before[axis];
    }
  }
  ValueId result = inputs[0];
  if (!axes.empty())
    result = c("Slice", {result}, {{"starts", starts}, {"ends", ends}, {"axes", axes}});
  before.insert(before.end(), after.begin(), after.end());
  if (pads) result = c("Pad", {result}, {{"pads", before}});
  if (result == inputs[0]) result = c("Identity", {result});
  return c.outputs({result});
}

constexpr std::array center_parameters = {OnnxParameter{"shape", 1, 1}};
constexpr std::array center_onnx = {
    OnnxMapping{.name = "CenterCropPad", .since = 18, .parameters = center_parameters}};

// ---- Col2Im ------------------------------------------------------------------------------------
//
// x: [N, C * product of block_shape, windows]. Each position of the image is the sum of the elements of all windows
// that lie on it.

constexpr std::array col2im_attributes = {
    AttributeSpecification{"block_shape", AttributeKind::dimensions},
    AttributeSpecification{"dilations", AttributeKind::integers, "optional"},
    AttributeSpecification{"image_shape", AttributeKind::dimensions},
    AttributeSpecification{"pads", AttributeKind::integers, "optional"},
    AttributeSpecification{"strides", AttributeKind::integers, "optional"},
};

struct Windows {
  Shape image, block, counts;  // counts: windows along each axis
  Integers dilations, strides, before;
};

Integers integers_or(const Instance& in, std::string_view name, std::size_t count,
                     std::int64_t otherwise) {
  return in.attributes.has(name) ? in.attributes.integers(name) : Integers(count, otherwise);
}

Result<Windows> windows_of(const Instance& in) {
  Windows result;
  result.image = in.attributes.dimensions("image_shape");
  result.block = in.attributes.dimensions("block_shape");
  const std::size_t rank = result.image.size();
  result.dilations = integers_or(in, "dilations", rank, 1);
  result.strides = integers_or(in, "strides", rank, 1);
  const Integers pads = integers_or(in, "pads", 2 * rank, 0);
  if (rank == 0 || result.block.size() != rank || result.dilations.size() != rank ||
      result.strides.size() != rank || pads.size() != 2 * rank)
    return bad_input("attributes for different numbers of axes");
  result.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
  for (std::size_t i = 0; i < rank; ++i) {
    if (result.strides[i] < 1 || result.dilations[i] < 1)
      return bad_input("strides and dilations are at least 1");
    if (!result.image[i].is_constant() || !result.block[i].is_constant())
      return unsupported("an image of a size that is not known");
    const std::int64_t room = result.image[i].offset() + pads[i] + pads[rank + i] -
                              result.dilations[i] * (result.block[i].offset() - 1) - 1;
    if (room < 0 || result.block[i].offset() < 1)
      return bad_input("the blocks are larger than the image");
    result.counts.emplace_back(room / result.strides[i] + 1);
  }
  return result;
}

Types infer_col2im(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_type(in, 0, TypeSet::real));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 3, 3));
  LEMMA_ASSIGN_OR_RETURN(const Windows windows, windows_of(in));
  LEMMA_RETURN_IF_ERROR(
      require_same_size(in, in.shape(0)[2], element_count(windows.counts), "numbers of windows"));
  const Dimension block = element_count(windows.block);
  if (!in.divides(block, in.shape(0)[1]))
    return bad_input(
        fmt::format("{} elements do not make blocks of {}", in.shape(0)[1].text(), block.text()));
  const auto channels = exact_div(in.shape(0)[1], block);
  if (!channels) return unsupported("a number of channels that is not known");
  Shape shape = {in.shape(0)[0], *channels};
  shape.insert(shape.end(), windows.image.begin(), windows.image.end());
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}

Definition define_col2im(const Instance& in) {
  DefinitionBuilder d;
  const Windows windows = *windows_of(in);
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_col2im));
  const std::vector<Expression> within = d.variables(windows.block);
  // The window that has the element of its block at this position, along each axis.
  std::vector<Expression> window, conditions;
  for (std::size_t i = 0; i < within.size(); ++i) {
    const Expression start =
        axes[i + 2] + d.integer(windows.before[i]) - within[i] * d.integer(windows.dilations[i]);
    const Dimension stride = windows.strides[i];
    window.push_back(d.floor_div(start, stride));
    conditions.push_back(d.integer(0) <= start);
    conditions.push_back(d.floor_mod(start, stride) == d.integer(0));
    conditions.push_back(window.back() < d.extent(windows.counts[i]));
  }
  Expression counts = conditions.front();
  for (std::size_t i = 1; i < conditions.size(); ++i) counts = counts && conditions[i];
  const Expression row =
      axes[1] * element_count(windows.block) + flat_index(d, windows.block, within);
  const Expression element =
      d.read(0, in.type(0), {axes[0], row, flat_index(d, windows.counts, window)});
  d.output(axes, d.sum(within, d.select(counts, element, d.real(0, in.type(0)))));
  return std::move(d).finish();
}

constexpr std::array col2im_parameters = {OnnxParameter{"image_shape", 1, 1},
                                          OnnxParameter{"block_shape", 2, 1}};
constexpr std::array col2im_onnx = {
    OnnxMapping{.name = "Col2Im", .since = 18, .parameters = col2im_parameters}};

constexpr std::array cropping_records = {
    OperatorRecord{.name = "CenterCropPad",
                   .summary = "cut or padded with zeros around the middle, to a shape",
                   .attributes = center_attributes,
                   .infer = infer_center,
                   .compose = compose_center,
                   .normalize = normalize_center,
                   .onnx = center_onnx},
    OperatorRecord{
        .name = "Col2Im",
        .summary = "an image from the elements of windows, which are added where they overlap",
        .attributes = col2im_attributes,
        .flags = linear,
        .infer = infer_col2im,
        .define = define_col2im,
        .onnx = col2im_onnx},
};
static_assert(is_complete(cropping_records));

}  // namespace

std::span<const OperatorRecord> cropping() { return cropping_records; }

}  // namespace lemma::operators
