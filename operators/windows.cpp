#include "operators/windows.h"

#include <fmt/format.h>

#include "operators/helpers.h"

namespace lemma::operators {

namespace {

Result<void> complete_list(Attributes& attributes, const char* name, std::size_t count,
                           std::int64_t otherwise) {
  if (!attributes.has(name)) {
    attributes.set(name, Shape(count, Dimension(otherwise)));
    return {};
  }
  const Shape& values = attributes.dimensions(name);
  if (values.size() != count)
    return bad_input(fmt::format("{} has {} elements, not {}", name, values.size(), count));
  return {};
}

}  // namespace

Result<Attributes> complete_window(const Instance& in, std::size_t spatial) {
  Attributes attributes = in.attributes;
  LEMMA_RETURN_IF_ERROR(complete_list(attributes, "strides", spatial, 1));
  LEMMA_RETURN_IF_ERROR(complete_list(attributes, "dilations", spatial, 1));
  LEMMA_RETURN_IF_ERROR(complete_list(attributes, "pads", 2 * spatial, 0));
  return attributes;
}

Result<void> require_windows(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_positive(in, "strides"));
  return require_positive(in, "dilations");
}

std::vector<WindowAxis> window_axes(const Instance& in, const Shape& kernel) {
  const Shape &strides = in.attributes.dimensions("strides"),
              &pads = in.attributes.dimensions("pads");
  const Shape& dilations = in.attributes.dimensions("dilations");
  std::vector<WindowAxis> axes;
  for (std::size_t i = 0; i < kernel.size(); ++i)
    axes.push_back({in.shape(0)[2 + i], kernel[i], strides[i], dilations[i], pads[i],
                    pads[kernel.size() + i]});
  return axes;
}

Result<Dimension> window_count(const Instance& in, const WindowAxis& axis, bool ceil_mode) {
  const Dimension span = axis.span(), padded = axis.size + axis.pad_begin + axis.pad_end;
  if (!in.is_at_most(span, padded))
    return bad_input(fmt::format("a window of {} positions is larger than the padded input of {}",
                                 span.text(), padded.text()));
  const Dimension room = padded - span;
  if (!ceil_mode) return floor_div(room, axis.stride) + 1;
  const Dimension starts = floor_div(axis.size + axis.pad_begin - 1, axis.stride) + 1;
  return minimum(ceil_div(room, axis.stride) + 1, starts);
}

Expression window_position(DefinitionBuilder&, const WindowAxis& axis, Expression o, Expression k) {
  return o * axis.stride + k * axis.dilation - axis.pad_begin;
}

Expression inside(DefinitionBuilder& d, const WindowAxis& axis, Expression position,
                  bool ceil_mode) {
  Expression guard = d.integer(1, DataType::boolean);
  if (!axis.pad_begin.is(0)) guard = guard && (d.integer(0) <= position);
  if (!axis.pad_end.is(0) || ceil_mode) guard = guard && (position < d.extent(axis.size));
  return guard;
}

namespace {

Result<Shape> same_pads(const Shape& sizes, const Shape& kernel, const Attributes& attributes,
                        bool upper) {
  const std::size_t spatial = kernel.size();
  const Shape ones(spatial, Dimension(1));
  const Shape strides = attributes.has("strides") ? attributes.dimensions("strides") : ones;
  const Shape dilations = attributes.has("dilations") ? attributes.dimensions("dilations") : ones;
  if (sizes.size() != spatial + 2 || strides.size() != spatial || dilations.size() != spatial)
    return bad_input("the input, strides, dilations and kernel have different numbers of axes");
  Shape pads(2 * spatial);
  for (std::size_t i = 0; i < spatial; ++i) {
    const Dimension& size = sizes[2 + i];
    if (!strides[i].is_constant() || strides[i].offset() < 1)
      return bad_input(fmt::format("strides {} are not positive", text(strides)));
    const Dimension count = ceil_div(size, strides[i]);
    const Dimension span = dilations[i] * (kernel[i] - 1) + 1;
    const Dimension total = maximum((count - 1) * strides[i] + span - size, 0);
    if (!total.is_constant())
      return unsupported(
          fmt::format("automatic padding of an axis of size {} with stride {} depends on run time",
                      size.text(), strides[i].text()));
    const std::int64_t small = total.offset() / 2, large = total.offset() - small;
    pads[i] = upper ? small : large;
    pads[spatial + i] = upper ? large : small;
  }
  return pads;
}

}  // namespace

Result<void> resolve_auto_pad(const OnnxCall& call, const Shape& kernel, ImportedCall& imported) {
  const std::string_view mode = string_or(call, "auto_pad", "NOTSET");
  if (mode.empty() || mode == "NOTSET") return {};
  imported.attributes.erase("pads");
  if (mode == "VALID") return {};
  const bool upper = mode == "SAME_UPPER";
  if (!upper && mode != "SAME_LOWER")
    return bad_input(fmt::format("auto_pad '{}' is not known", mode));
  if (call.inputs.empty() || !call.inputs[0].type.shape)
    return unsupported("automatic padding of an input of unknown rank");
  LEMMA_ASSIGN_OR_RETURN(Shape pads,
                         same_pads(*call.inputs[0].type.shape, kernel, imported.attributes, upper));
  imported.attributes.set("pads", std::move(pads));
  return {};
}

}  // namespace lemma::operators
