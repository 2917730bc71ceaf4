#include "operators/coordinates.h"

#include <numeric>

#include <fmt/format.h>

namespace lemma::operators {

namespace {

/// Scale of the axes of a Resize that keeps the aspect ratio: the least or greatest of the ratios
/// asked for.
Result<Fraction> common_scale(const Instance& in, const Integers& axes, const Shape& sizes,
                              bool least) {
  Fraction best;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Dimension& input = in.shape(0)[static_cast<std::size_t>(axes[i])];
    if (!input.is_constant() || !sizes[i].is_constant())
      return unsupported("keeping the aspect ratio of symbolic sizes");
    const std::int64_t n = sizes[i].offset(), d = input.offset();
    if (n < 1 || d < 1) return bad_input("the aspect ratio of an empty axis");
    const auto left = static_cast<__int128>(n) * best.denominator;
    const auto right = static_cast<__int128>(best.numerator) * d;
    if (i == 0 || (least ? left < right : left > right)) best = {n, d};
  }
  const std::int64_t common = std::gcd(best.numerator, best.denominator);
  return Fraction{best.numerator / common, best.denominator / common};
}

void scale_by(ResizedAxis& axis, const Fraction& scale) {
  axis.numerator = scale.numerator;
  axis.denominator = scale.denominator;
  axis.length = axis.input * axis.numerator;
  axis.length_denominator = axis.denominator;
}

/// output / input in lowest terms, as far as symbols allow.
void scale_to(ResizedAxis& axis, const Dimension& output) {
  axis.output = axis.length = output;
  axis.length_denominator = 1;
  axis.numerator = output;
  axis.denominator = axis.input;
  if (output.is(0)) {
    axis.numerator = axis.denominator = 1;  // no element asks for its position
  } else if (const auto times = exact_div(output, axis.input)) {
    axis.numerator = *times;
    axis.denominator = 1;
  } else if (const auto part = exact_div(axis.input, output)) {
    axis.numerator = 1;
    axis.denominator = *part;
  } else if (output.is_constant() && axis.input.is_constant()) {
    const std::int64_t common = std::gcd(output.offset(), axis.input.offset());
    axis.numerator = output.offset() / common;
    axis.denominator = axis.input.offset() / common;
  }
}

Result<void> set_sizes(const Instance& in, std::vector<ResizedAxis>& axes) {
  const Shape& sizes = in.attributes.dimensions("sizes");
  const std::string& policy = in.attributes.string("keep_aspect_ratio_policy");
  if (policy == "stretch") {
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const bool fits = sizes[i] == axes[i].input || sizes[i].is(0) ||
                        in.is_at_most(minimum(1, sizes[i]), axes[i].input);
      if (!fits || (axes[i].input.is(0) && !sizes[i].is(0)))
        return bad_input(fmt::format("axis {} is empty and cannot be resized", i));
      scale_to(axes[i], sizes[i]);
    }
    return {};
  }
  const Integers& resized = in.attributes.integers("axes");
  LEMMA_ASSIGN_OR_RETURN(const Fraction scale,
                         common_scale(in, resized, sizes, policy == "not_larger"));
  for (const std::int64_t position : resized) {
    ResizedAxis& axis = axes[static_cast<std::size_t>(position)];
    scale_by(axis, scale);
    // Rounded to the nearest integer, halves up.
    axis.output = floor_div(axis.length * 2 + axis.denominator, axis.denominator * 2);
  }
  return {};
}

Result<void> set_regions(const Instance& in, std::vector<ResizedAxis>& axes) {
  const Reals& roi = in.attributes.reals("roi");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto begin = simplest_fraction(roi[i]), end = simplest_fraction(roi[axes.size() + i]);
    if (!begin || !end) return unsupported("a region of interest that is far outside");
    axes[i].roi_begin = *begin;
    axes[i].roi_end = *end;
  }
  return {};
}

}  // namespace

Result<std::vector<ResizedAxis>> resized_axes(const Instance& in) {
  std::vector<ResizedAxis> axes;
  for (const Dimension& size : in.shape(0)) axes.push_back({size, size, 1, 1, size, 1});
  if (in.attributes.has("sizes")) {
    LEMMA_RETURN_IF_ERROR(set_sizes(in, axes));
  } else {
    const Reals& scales = in.attributes.reals("scales");
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto scale = simplest_fraction(scales[i]);
      if (!scale) return unsupported(fmt::format("the scale factor {}", scales[i]));
      if (scale->numerator < 1) return bad_input(fmt::format("the scale factor {}", scales[i]));
      scale_by(axes[i], *scale);
      axes[i].output = floor_div(axes[i].length, axes[i].denominator);
    }
  }
  if (in.attributes.has("roi")) LEMMA_RETURN_IF_ERROR(set_regions(in, axes));
  return axes;
}

namespace {

/// Divides out what constants have in common.
Coordinate reduced(Coordinate at) {
  if (!at.slope.is_constant() || !at.offset.is_constant() || !at.denominator.is_constant())
    return at;
  const std::int64_t common =
      std::gcd(std::gcd(at.slope.offset(), at.offset.offset()), at.denominator.offset());
  if (common <= 1) return at;
  return {at.slope.offset() / common, at.offset.offset() / common, at.denominator.offset() / common,
          at.zero_if_single};
}

/// Output length is 1, so far as it is known.
bool single(const ResizedAxis& axis) { return axis.length == axis.length_denominator; }

Result<Coordinate> cropped(const ResizedAxis& axis) {
  const std::int64_t common = std::lcm(axis.roi_begin.denominator, axis.roi_end.denominator);
  const Dimension begin =
      Dimension(axis.roi_begin.numerator) * (common / axis.roi_begin.denominator);
  const Dimension end = Dimension(axis.roi_end.numerator) * (common / axis.roi_end.denominator);
  const Dimension last = axis.input - 1;
  if (single(axis) || axis.output.is(1))
    return Coordinate{0, (begin + end) * last, Dimension(2) * common};
  const Dimension steps = axis.length - axis.length_denominator;
  if (!steps.is_constant() && !surely_at_least(steps, 1))
    return unsupported("cropping to a symbolic size");
  return Coordinate{(end - begin) * last * axis.length_denominator, begin * last * steps,
                    steps * common};
}

Result<Coordinate> unreduced_coordinate(const ResizedAxis& axis, std::string_view mode) {
  const Dimension &p = axis.numerator, &q = axis.denominator;
  if (mode == "half_pixel") return Coordinate{q * 2, q - p, p * 2};
  if (mode == "asymmetric") return Coordinate{q, 0, p};
  if (mode == "tf_half_pixel_for_nn") return Coordinate{q * 2, q, p * 2};
  if (mode == "half_pixel_symmetric")
    return Coordinate{q * 2, axis.input * p - axis.output * q + q - p, p * 2};
  if (mode == "pytorch_half_pixel") {
    if (axis.output.is(1)) return Coordinate{0, 0, 1};
    return Coordinate{q * 2, q - p, p * 2, !axis.output.is_constant()};
  }
  if (mode == "tf_crop_and_resize") return cropped(axis);
  // align_corners: the last positions of input and output coincide.
  const Dimension steps = axis.length - axis.length_denominator;
  if (steps.is_constant() && steps.offset() <= 0) return Coordinate{0, 0, 1};
  return Coordinate{(axis.input - 1) * axis.length_denominator, 0, maximum(steps, 1)};
}

}  // namespace

Result<Coordinate> coordinate(const ResizedAxis& axis, std::string_view mode) {
  const bool whole_region =
      axis.roi_begin.numerator == 0 && axis.roi_end.numerator == axis.roi_end.denominator;
  if (!axis.is_scaled() && axis.input == axis.output && whole_region) return Coordinate{1, 0, 1};
  LEMMA_ASSIGN_OR_RETURN(const Coordinate at, unreduced_coordinate(axis, mode));
  if (!at.slope.is_valid() || !at.offset.is_valid() || !at.denominator.is_valid())
    return unsupported("coordinates that need very large integers");
  return reduced(at);
}

Expression scaled_position(DefinitionBuilder& d, const ResizedAxis& axis, const Coordinate& at,
                           Expression o) {
  const Expression position = o * at.slope + at.offset;
  if (!at.zero_if_single) return position;
  return d.select(d.extent(axis.output) == d.integer(1), d.integer(0), position);
}

Expression clamped(DefinitionBuilder& d, Expression position, const Dimension& size) {
  return maximum(d.integer(0), minimum(position, d.extent(size - 1)));
}

namespace {

/// floor((slope * o + offset) / denominator) that needs no clamping to the input.
bool stays_inside(const ResizedAxis& axis, const Coordinate& at) {
  const Dimension last = at.slope * (axis.output - 1) + at.offset;
  if (at.slope.is_constant() && at.slope.offset() >= 0 && at.offset.is_constant() &&
      at.denominator.is_constant() && last.is_constant() && axis.input.is_constant())
    return at.offset.offset() >= 0 &&
           floor_div(last, at.denominator).offset() < axis.input.offset();
  return at.slope.is(1) && at.offset.is(0) && axis.output == axis.input * at.denominator;
}

/// The same floor with smaller numbers: (a*g*o + b) / (c*g) has the floor of (a*o + floor(b/g)) / c.
Coordinate floor_reduced(const Coordinate& at) {
  if (!at.slope.is_constant() || !at.denominator.is_constant()) return at;
  const std::int64_t common = std::gcd(at.slope.offset(), at.denominator.offset());
  if (common <= 1) return at;
  return {at.slope.offset() / common, floor_div(at.offset, common),
          at.denominator.offset() / common, at.zero_if_single};
}

}  // namespace

Expression nearest_position(DefinitionBuilder& d, const ResizedAxis& axis, const Coordinate& at,
                            std::string_view mode, Expression o) {
  if (at.is_identity()) return o;
  Coordinate rounded = at;
  if (mode == "ceil") {
    rounded.offset = at.offset + at.denominator - 1;
  } else if (mode != "floor") {
    // Halves go down for round_prefer_floor: ceil(x - 1/2); up otherwise: floor(x + 1/2).
    rounded.slope = at.slope * 2;
    rounded.offset = at.offset * 2 + at.denominator - (mode == "round_prefer_floor" ? 1 : 0);
    rounded.denominator = at.denominator * 2;
  }
  if (at.zero_if_single) {
    const Expression other = d.floor_div(o * rounded.slope + rounded.offset, rounded.denominator);
    return d.select(d.extent(axis.output) == d.integer(1), d.integer(0),
                    clamped(d, other, axis.input));
  }
  rounded = floor_reduced(rounded);
  const Expression position = d.floor_div(o * rounded.slope + rounded.offset, rounded.denominator);
  return stays_inside(axis, rounded) ? position : clamped(d, position, axis.input);
}

}  // namespace lemma::operators
