#include "operators/families.h"
#include "operators/helpers.h"
#include "operators/sizes.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include <fmt/format.h>

// Slice. Starts and ends are clamped to the axis and counted from its end where negative, as ONNX
// says. Attributes are stored clamped where that needs no case distinction on symbols, and as given
// otherwise, so that normalizing twice changes nothing; `Cut` resolves them for shape and meaning.

namespace lemma::operators {
namespace {

/// "To the end" in files: exporters write the greatest 32- or 64-bit integer.
constexpr std::int64_t far_away = 2147483647;
/// Exporters write the least 64-bit integer for "from the start"; no axis is so long that it reaches this far.
constexpr std::int64_t before_all = -(std::int64_t{1} << 62U);

/// A position with negative ones counted from the end. Where the sign depends on symbols, the size
/// is added just when the position is negative.
Dimension from_end(const Dimension& position, const Dimension& size) {
  if (position.is_constant()) return position.offset() < 0 ? position + size : position;
  if (position == size || surely_at_least(position, 0)) return position;
  if (position == Dimension(0) - size) return 0;  // also in an empty axis
  if (surely_at_least(Dimension(-1), position)) return position + size;
  const Dimension is_negative = minimum(1, maximum(0, Dimension(0) - position));
  // One position before the end is only negative in an empty axis, where all positions clamp to 0.
  if (position == size - 1) return position;
  return position + size * is_negative;
}

/// The part of one axis that a slice takes: `count` elements, from `start` on in steps.
struct Cut {
  Dimension start, count;
  Dimension end;  // clamped; meaningful for the normal form only
};

Cut cut_forward(const Dimension& size, const Dimension& start, const Dimension& end,
                std::int64_t step) {
  auto clamp = [&size](const Dimension& position) {
    if (position.is_constant() && position.offset() >= far_away) return size;
    if (position.is_constant() && position.offset() < before_all) return Dimension(0);
    const Dimension p = from_end(position, size);
    return p == size ? size : maximum(0, minimum(p, size));
  };
  const Dimension from = clamp(start), to = clamp(end);
  return {from,
          to == size && from.is(0) && step == 1 ? size : maximum(0, ceil_div(to - from, step)), to};
}

Cut cut_backward(const Dimension& size, const Dimension& start, const Dimension& end,
                 std::int64_t step) {
  const Dimension last = size - 1;
  auto clamp = [&size, &last](const Dimension& position, std::int64_t least) {
    if (position.is_constant() && position.offset() >= far_away) return last;
    if (position.is_constant() && position.offset() < -far_away) return Dimension(least);
    const Dimension p = from_end(position, size);
    return p == last || surely_at_least(p, last) ? last : maximum(least, minimum(p, last));
  };
  if (size.is(0)) return {0, 0, 0};
  const Dimension from = clamp(start, 0), to = clamp(end, -1);
  const Dimension count = maximum(0, ceil_div(from - to, -step));
  // In an empty axis a clamped start would still count as an element.
  return {from, from == last || surely_at_least(size, 1) ? count : minimum(count, size), to};
}

Cut cut(const Dimension& size, const Dimension& start, const Dimension& end, std::int64_t step) {
  return step > 0 ? cut_forward(size, start, end, step) : cut_backward(size, start, end, step);
}

/// Sorted axes with everything else in the same order.
void sort_by_axis(Integers& axes, Shape& starts, Shape& ends, Integers& steps) {
  std::vector<std::size_t> order(axes.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&axes](std::size_t a, std::size_t b) { return axes[a] < axes[b]; });
  auto reorder = [&order](auto& values) {
    auto sorted = values;
    for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = values[order[i]];
    values = std::move(sorted);
  };
  reorder(starts);
  reorder(ends);
  reorder(steps);
  reorder(axes);
}

/// Clamped bounds, if normalizing them once more would leave them alone.
void store_clamped(const Dimension& size, Dimension& start, Dimension& end, std::int64_t step) {
  Cut known = cut(size, start, end, step);
  if (step < 0 && known.end.is(-1)) known.end = Dimension(-1) - size;  // before the first element
  if (step < 0 && !size.is_constant()) return;
  if (known.start == start && known.end == end) return;
  const Cut again = cut(size, known.start, known.end, step);
  if (again.start == known.start && again.count == known.count &&
      (step < 0 || again.end == known.end)) {
    start = known.start;
    end = known.end;
  }
}

Result<void> check_lengths(std::size_t rank, const Integers& axes, const Shape& starts,
                           const Shape& ends, const Integers& steps) {
  if (starts.size() != ends.size() || starts.size() != axes.size() || starts.size() != steps.size())
    return bad_input(fmt::format("starts {}, ends {}, axes and steps differ in length",
                                 text(starts), text(ends)));
  if (contains(steps, 0)) return bad_input("a step is 0");
  if (axes.size() > rank)
    return bad_input(fmt::format("{} axes of {} are sliced", axes.size(), rank));
  return {};
}

Result<Attributes> normalize_slice(const Instance& in) {
  Attributes attributes = in.attributes;
  Shape starts = attributes.dimensions("starts"), ends = attributes.dimensions("ends");
  Integers axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (attributes.has("axes")) axes = attributes.integers("axes");
  if (attributes.has("steps")) steps = attributes.integers("steps");
  // The negative of the lowest step is no integer; one more cuts the same.
  for (std::int64_t& step : steps) step = std::max(step, -std::numeric_limits<std::int64_t>::max());
  LEMMA_RETURN_IF_ERROR(check_lengths(in.rank(0), axes, starts, ends, steps));
  const auto rank = static_cast<std::int64_t>(in.rank(0));
  for (std::int64_t& axis : axes) {
    if (axis < -rank || axis >= rank)
      return bad_input(fmt::format("axis {} is out of range for {} axes", axis, rank));
    if (axis < 0) axis += rank;
  }
  sort_by_axis(axes, starts, ends, steps);
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    return bad_input("axes names an axis twice");
  for (std::size_t i = 0; i < axes.size(); ++i)
    store_clamped(in.shape(0)[static_cast<std::size_t>(axes[i])], starts[i], ends[i], steps[i]);
  attributes.set("starts", std::move(starts));
  attributes.set("ends", std::move(ends));
  attributes.set("axes", std::move(axes));
  attributes.set("steps", std::move(steps));
  return attributes;
}

/// The cuts in the order of the attribute `axes`.
std::vector<Cut> cuts(const Instance& in) {
  const Integers &axes = in.attributes.integers("axes"), &steps = in.attributes.integers("steps");
  std::vector<Cut> result;
  for (std::size_t i = 0; i < axes.size(); ++i)
    result.push_back(cut(in.shape(0)[static_cast<std::size_t>(axes[i])],
                         in.attributes.dimensions("starts")[i], in.attributes.dimensions("ends")[i],
                         steps[i]));
  return result;
}

Result<std::vector<TensorType>> infer_slice(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::any));
  Shape shape = in.shape(0);
  const std::vector<Cut> parts = cuts(in);
  for (std::size_t i = 0; i < parts.size(); ++i)
    shape[static_cast<std::size_t>(in.attributes.integers("axes")[i])] = parts[i].count;
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}

Definition define_slice(const Instance& in) {
  DefinitionBuilder d;
  const Integers &axes = in.attributes.integers("axes"), &steps = in.attributes.integers("steps");
  const std::vector<Expression> variables = d.variables(output_shape(in, infer_slice));
  std::vector<Expression> indices = variables;
  const std::vector<Cut> parts = cuts(in);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    indices[axis] = variables[axis] * Dimension(steps[i]) + parts[i].start;
  }
  d.output(variables, d.read(0, in.type(0), indices));
  return std::move(d).finish();
}

Result<ExportedCall> export_slice(const Instance& in, int opset, ExportedCall standard) {
  if (opset >= 10) return standard;
  for (const std::int64_t step : in.attributes.integers("steps"))
    if (step != 1) return unsupported("slices have steps since operator set 10");
  standard.attributes.erase("steps");
  return standard;
}

Result<ImportedCall> import_slice(const OnnxCall& call, ImportedCall standard) {
  LEMMA_RETURN_IF_ERROR(only_attributes(call, {"starts", "ends", "axes"}));
  return standard;
}

constexpr std::array slice_attributes = {
    AttributeSpecification{"starts", AttributeKind::dimensions, "required"},
    AttributeSpecification{"ends", AttributeKind::dimensions, "required"},
    AttributeSpecification{"axes", AttributeKind::integers, "optional", AttributeRole::listed_axes},
    AttributeSpecification{"steps", AttributeKind::integers, "optional"}};
constexpr std::array slice_parameters = {
    OnnxParameter{.attribute = "starts", .input = 1, .input_since = 10},
    OnnxParameter{.attribute = "ends", .input = 2, .input_since = 10},
    OnnxParameter{.attribute = "axes", .input = 3, .input_since = 10},
    OnnxParameter{.attribute = "steps", .input = 4, .input_since = 10}};
constexpr std::array slice_onnx = {OnnxMapping{.name = "Slice",
                                               .since = 1,
                                               .parameters = slice_parameters,
                                               .import_hook = import_slice,
                                               .export_hook = export_slice}};

constexpr std::array slicing_records = {
    OperatorRecord{.name = "Slice",
                   .summary = "takes a range of positions, perhaps with steps, on some axes",
                   .inputs = {1, 1},
                   .outputs = {1, 1},
                   .attributes = slice_attributes,
                   .flags = data_movement | linear | keeps_axes | reads_inside,
                   .infer = infer_slice,
                   .define = define_slice,
                   .normalize = normalize_slice,
                   .onnx = slice_onnx},
};
static_assert(is_complete(slicing_records));

}  // namespace

std::span<const OperatorRecord> slicing() { return slicing_records; }

}  // namespace lemma::operators
