#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "operators/coordinates.h"
#include "operators/families.h"
#include "operators/helpers.h"

namespace lemma::operators {
namespace {

// ---- Attributes -------------------------------------------------------------------------------

Result<void> one_of(const Instance& in, std::string_view attribute,
                    std::initializer_list<std::string_view> values) {
  const std::string& value = in.attributes.string(attribute);
  if (std::find(values.begin(), values.end(), value) != values.end()) return {};
  return bad_input(fmt::format("{} '{}' is not known", attribute, value));
}

Result<void> check_modes(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(one_of(in, "mode", {"nearest", "linear", "cubic"}));
  LEMMA_RETURN_IF_ERROR(
      one_of(in, "nearest_mode", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  LEMMA_RETURN_IF_ERROR(
      one_of(in, "keep_aspect_ratio_policy", {"stretch", "not_larger", "not_smaller"}));
  return one_of(in, "coordinate_transformation_mode",
                {"half_pixel", "half_pixel_symmetric", "asymmetric", "align_corners",
                 "pytorch_half_pixel", "tf_half_pixel_for_nn", "tf_crop_and_resize"});
}

/// The attribute axes, or all axes.
Result<Integers> resized(const Instance& in) {
  const auto rank = static_cast<std::int64_t>(in.rank(0));
  Integers axes(in.rank(0));
  std::iota(axes.begin(), axes.end(), 0);
  if (!in.attributes.has("axes")) return axes;
  axes = in.attributes.integers("axes");
  Integers seen;
  for (std::int64_t& axis : axes) {
    if (axis < -rank || axis >= rank)
      return bad_input(fmt::format("axis {} is out of range for {} axes", axis, rank));
    if (axis < 0) axis += rank;
    if (contains(seen, axis)) return bad_input("axes names an axis twice");
    seen.push_back(axis);
  }
  return axes;
}

Result<void> check_length(std::string_view attribute, std::size_t length, std::size_t expected) {
  if (length == expected) return {};
  return bad_input(fmt::format("{} has {} elements, not {}", attribute, length, expected));
}

/// The region of interest for all axes; only one mode looks at it.
Result<void> complete_region(const Integers& axes, std::size_t rank, Attributes& attributes) {
  if (attributes.string("coordinate_transformation_mode") != "tf_crop_and_resize") {
    attributes.erase("roi");
    return {};
  }
  if (!attributes.has("roi")) return bad_input("roi is missing");
  if (attributes.string("keep_aspect_ratio_policy") != "stretch")
    return unsupported("keeping the aspect ratio of a region of interest");
  const Reals given = attributes.reals("roi");
  LEMMA_RETURN_IF_ERROR(check_length("roi", given.size(), 2 * axes.size()));
  Reals roi(2 * rank, 0.0);
  std::fill(roi.begin() + static_cast<long>(rank), roi.end(), 1.0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    roi[static_cast<std::size_t>(axes[i])] = given[i];
    roi[rank + static_cast<std::size_t>(axes[i])] = given[axes.size() + i];
  }
  attributes.set("roi", std::move(roi));
  return {};
}

/// Scales and sizes are given for all axes, unless the aspect ratio of some is to be kept.
Result<Attributes> normalize_resize(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(check_modes(in));
  Attributes attributes = in.attributes;
  const std::size_t rank = in.rank(0);
  if (attributes.string("mode") == "nearest") attributes.set("antialias", std::int64_t{0});
  LEMMA_ASSIGN_OR_RETURN(const Integers axes, resized(in));
  if (attributes.has("scales") == attributes.has("sizes"))
    return bad_input("either scales or sizes are needed");
  LEMMA_RETURN_IF_ERROR(complete_region(axes, rank, attributes));
  if (attributes.has("scales")) {
    const Reals given = attributes.reals("scales");
    LEMMA_RETURN_IF_ERROR(check_length("scales", given.size(), axes.size()));
    Reals scales(rank, 1.0);
    for (std::size_t i = 0; i < axes.size(); ++i)
      scales[static_cast<std::size_t>(axes[i])] = given[i];
    attributes.set("scales", std::move(scales));
    attributes.set("keep_aspect_ratio_policy", std::string("stretch"));
    attributes.erase("axes");
    return attributes;
  }
  const Shape given = attributes.dimensions("sizes");
  LEMMA_RETURN_IF_ERROR(check_length("sizes", given.size(), axes.size()));
  if (attributes.string("keep_aspect_ratio_policy") != "stretch") {
    attributes.set("axes", axes);
    return attributes;
  }
  Shape sizes = in.shape(0);
  for (std::size_t i = 0; i < axes.size(); ++i) sizes[static_cast<std::size_t>(axes[i])] = given[i];
  attributes.set("sizes", std::move(sizes));
  attributes.erase("axes");
  return attributes;
}

// ---- Shape and meaning ------------------------------------------------------------------------

bool shrinks(const ResizedAxis& axis) {
  return axis.numerator.is_constant() && axis.denominator.is_constant() &&
         axis.numerator.offset() < axis.denominator.offset();
}

/// The kernel against aliasing is written out, which has its limits.
Result<void> check_antialias(const Instance& in, const std::vector<ResizedAxis>& axes) {
  if (in.attributes.integer("antialias") == 0) return {};
  constexpr std::int64_t limit = 1024;
  const std::int64_t reach = in.attributes.string("mode") == "cubic" ? 4 : 2;
  std::int64_t taps = 1;
  for (const ResizedAxis& axis : axes) {
    if (!axis.is_scaled()) continue;
    if (!axis.numerator.is_constant() || !axis.denominator.is_constant())
      return unsupported("antialiasing with a symbolic scale factor");
    const Dimension width = maximum(1, ceil_div(axis.denominator, axis.numerator)) * reach;
    taps = taps > limit || width.offset() > limit ? limit + 1 : taps * width.offset();
  }
  if (taps > limit) return unsupported("antialiasing over very many elements");
  return {};
}

Result<std::vector<TensorType>> infer_resize(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::wide));
  if (in.attributes.string("mode") != "nearest" && !is_real(in.type(0)))
    return unsupported(fmt::format("interpolation of {}", name(in.type(0))));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<ResizedAxis> axes, resized_axes(in));
  LEMMA_RETURN_IF_ERROR(check_antialias(in, axes));
  Shape shape;
  for (const ResizedAxis& axis : axes) {
    const std::string& mode = in.attributes.string("coordinate_transformation_mode");
    LEMMA_RETURN_IF_ERROR(coordinate(axis, mode));
    shape.push_back(axis.output);
  }
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}

/// An input position and its weight in the interpolation along one axis.
struct Tap {
  Expression position, weight;
};

/// Keys' cubic kernel at a distance of at most 1, and of 1 to 2.
Expression cubic_near(DefinitionBuilder& d, Expression x, Expression a) {
  const DataType type = x.type();
  const Expression near = a + d.real(2, type), further = a + d.real(3, type);
  return (near * x - further) * x * x + d.real(1, type);
}

Expression cubic_far(DefinitionBuilder& d, Expression x, Expression a) {
  const auto times = [&](double factor) { return d.real(factor, x.type()) * a; };
  return ((a * x - times(5)) * x + times(8)) * x - times(4);
}

/// Input positions that one kernel covers: those from `first` up to 1 - `first`, counted from the
/// one at or before the exact position.
std::int64_t first_tap(const Instance& in, const ResizedAxis& axis) {
  const std::int64_t reach = in.attributes.string("mode") == "cubic" ? 2 : 1;
  if (in.attributes.integer("antialias") == 0 || !shrinks(axis)) return 1 - reach;
  return floor_div(axis.denominator * -reach, axis.numerator).offset() + 1;
}

/// Weight of the tap `k`, where the exact position lies `f` after tap 0. Against aliasing, the
/// kernel is as wide as in the output when the axis shrinks.
Expression tap_weight(DefinitionBuilder& d, const Instance& in, const ResizedAxis& axis,
                      std::int64_t k, Expression f) {
  const DataType type = f.type();
  const Expression tap = d.real(static_cast<double>(k), type), zero = d.real(0, type);
  Expression distance = k > 0 ? tap - f : (k == 0 ? f : f - tap);
  const bool cubic = in.attributes.string("mode") == "cubic";
  const Expression a = d.real(in.attributes.real("cubic_coeff_a"), type);
  if (in.attributes.integer("antialias") == 0 || !shrinks(axis)) {
    if (!cubic) return k == 0 ? d.real(1, type) - f : f;
    return k == 0 || k == 1 ? cubic_near(d, distance, a) : cubic_far(d, distance, a);
  }
  distance =
      distance * d.cast(d.extent(axis.numerator), type) / d.cast(d.extent(axis.denominator), type);
  if (!cubic) return maximum(zero, d.real(1, type) - distance);
  return d.select(distance <= d.real(1, type), cubic_near(d, distance, a),
                  d.select(distance < d.real(2, type), cubic_far(d, distance, a), zero));
}

/// The taps of an interpolation around `whole`, with weights that add up to 1.
std::vector<Tap> interpolation_taps(DefinitionBuilder& d, const Instance& in,
                                    const ResizedAxis& axis, Expression whole,
                                    Expression fraction) {
  const bool exclude = in.attributes.integer("exclude_outside") != 0;
  const bool normalize = exclude || (in.attributes.integer("antialias") != 0 && shrinks(axis));
  const std::int64_t first = first_tap(in, axis);
  std::vector<Tap> taps;
  Expression total;
  for (std::int64_t k = first; k <= 1 - first; ++k) {
    const Expression position = whole + d.integer(k);
    Expression weight = tap_weight(d, in, axis, k, fraction);
    if (exclude) weight = d.select(d.in_range(position, axis.input), weight, d.real(0, in.type(0)));
    total = k == first ? weight : total + weight;
    taps.push_back({clamped(d, position, axis.input), weight});
  }
  if (normalize)
    for (Tap& tap : taps) tap.weight = tap.weight / total;
  return taps;
}

/// The neighbors of one output position along one axis; a single one where nothing is blended.
std::vector<Tap> taps_along(DefinitionBuilder& d, const Instance& in, const ResizedAxis& axis,
                            const Coordinate& at, Expression o) {
  const std::string& mode = in.attributes.string("mode");
  if (mode == "nearest" || at.is_identity())
    return {{nearest_position(d, axis, at, in.attributes.string("nearest_mode"), o), {}}};
  const Expression position = scaled_position(d, axis, at, o);
  const Expression whole = d.floor_div(position, at.denominator);
  const DataType type = in.type(0);
  const bool plain = mode == "linear" && in.attributes.integer("antialias") == 0;
  if (plain && at.denominator.is(1)) return {{clamped(d, whole, axis.input), {}}};
  const Expression fraction =
      d.cast(d.floor_mod(position, at.denominator), type) / d.cast(d.extent(at.denominator), type);
  return interpolation_taps(d, in, axis, whole, fraction);
}

/// Sum over all combinations of taps, the first axis outermost.
Expression blend(DefinitionBuilder& d, const Instance& in,
                 const std::vector<std::vector<Tap>>& taps, std::vector<Expression>& indices) {
  if (indices.size() == taps.size()) return d.read(0, in.type(0), indices);
  Expression sum;
  bool first = true;
  const std::vector<Tap>& along = taps[indices.size()];
  for (const Tap& tap : along) {
    indices.push_back(tap.position);
    const Expression rest = blend(d, in, taps, indices);
    indices.pop_back();
    const Expression part = along.size() == 1 ? rest : tap.weight * rest;
    sum = first ? part : sum + part;
    first = false;
  }
  return sum;
}

Definition define_resize(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<ResizedAxis> axes = *resized_axes(in);
  const std::string& transformation = in.attributes.string("coordinate_transformation_mode");
  const std::vector<Expression> variables = d.variables(output_shape(in, infer_resize));
  std::vector<std::vector<Tap>> taps;
  Expression outside = d.integer(0, DataType::boolean);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Coordinate at = *coordinate(axes[i], transformation);
    taps.push_back(taps_along(d, in, axes[i], at, variables[i]));
    if (transformation != "tf_crop_and_resize" || at.is_identity()) continue;
    const Expression position = scaled_position(d, axes[i], at, variables[i]);
    const Expression last = d.extent((axes[i].input - 1) * at.denominator);
    outside = outside || (position < d.integer(0)) || (last < position);
  }
  std::vector<Expression> indices;
  const Expression inside = blend(d, in, taps, indices);
  const Expression beyond = d.constant(in.attributes.real("extrapolation_value"), in.type(0));
  d.output(variables, d.select(outside, beyond, inside));
  return std::move(d).finish();
}

// ---- ONNX -------------------------------------------------------------------------------------

Result<ImportedCall> import_resize(const OnnxCall& call, ImportedCall standard) {
  LEMMA_RETURN_IF_ERROR(only_attributes(
      call,
      {"mode", "nearest_mode", "coordinate_transformation_mode", "cubic_coeff_a", "exclude_outside",
       "extrapolation_value", "antialias", "axes", "keep_aspect_ratio_policy"}));
  Attributes& attributes = standard.attributes;
  // Empty tensors stand for absent inputs.
  if (attributes.has("roi") && attributes.reals("roi").empty()) attributes.erase("roi");
  if (attributes.has("scales") && attributes.reals("scales").empty()) attributes.erase("scales");
  if (attributes.has("sizes") && attributes.dimensions("sizes").empty()) attributes.erase("sizes");
  return standard;
}

/// Before operator set 11, positions were scaled from the corner and truncated when enlarging, and
/// rounded up when shrinking.
Result<ImportedCall> import_upsample(const OnnxCall& call, ImportedCall standard) {
  LEMMA_RETURN_IF_ERROR(only_attributes(call, {"mode", "scales"}));
  Attributes& attributes = standard.attributes;
  if (!attributes.has("scales")) return bad_input("scales are missing");
  bool enlarges = false, shrinks = false;
  for (const double scale : attributes.reals("scales")) {
    enlarges = enlarges || scale > 1;
    shrinks = shrinks || scale < 1;
  }
  const bool nearest = string_or(call, "mode", "nearest") == "nearest";
  if (nearest && enlarges && shrinks)
    return unsupported("enlarging one axis and shrinking another before operator set 11");
  attributes.set("nearest_mode", std::string(shrinks ? "ceil" : "floor"));
  attributes.set("coordinate_transformation_mode", std::string("asymmetric"));
  return standard;
}

constexpr std::array resize_attributes = {
    AttributeSpecification{"mode", AttributeKind::string, "\"nearest\""},
    AttributeSpecification{"nearest_mode", AttributeKind::string, "\"round_prefer_floor\""},
    AttributeSpecification{"coordinate_transformation_mode", AttributeKind::string,
                           "\"half_pixel\""},
    AttributeSpecification{"cubic_coeff_a", AttributeKind::real, "-0.75"},
    AttributeSpecification{"antialias", AttributeKind::integer, "0"},
    AttributeSpecification{"exclude_outside", AttributeKind::integer, "0"},
    AttributeSpecification{"extrapolation_value", AttributeKind::real, "0"},
    AttributeSpecification{"keep_aspect_ratio_policy", AttributeKind::string, "\"stretch\""},
    AttributeSpecification{"scales", AttributeKind::reals, "optional"},
    AttributeSpecification{"sizes", AttributeKind::dimensions, "optional"},
    AttributeSpecification{"roi", AttributeKind::reals, "optional"},
    AttributeSpecification{"axes", AttributeKind::integers, "optional"}};

Constant f32_vector(const Reals& values) {
  return Constant::of(DataType::f32, {static_cast<std::int64_t>(values.size())},
                      std::vector<float>(values.begin(), values.end()));
}

Result<ExportedCall> export_resize(const Instance& in, int opset, ExportedCall standard) {
  const std::string& transformation = in.attributes.string("coordinate_transformation_mode");
  if (transformation == "half_pixel_symmetric" && opset < 19)
    return unsupported("half_pixel_symmetric needs operator set 19");
  if (transformation == "tf_half_pixel_for_nn" && opset >= 13)
    return unsupported("tf_half_pixel_for_nn is no more in operator set 13");
  if (opset < 18) {
    if (in.attributes.string("keep_aspect_ratio_policy") != "stretch")
      return unsupported("keeping the aspect ratio needs operator set 18");
    if (in.attributes.integer("antialias") != 0)
      return unsupported("antialiasing needs operator set 18");
    standard.attributes.erase("keep_aspect_ratio_policy");
    standard.attributes.erase("antialias");
  }
  if (opset < 13) {
    // These two may be empty but not absent.
    if (standard.inputs.size() < 3) standard.inputs.resize(3, OnnxAbsent{});
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}})
      if (std::holds_alternative<OnnxAbsent>(standard.inputs[i]))
        standard.inputs[i] = f32_vector({});
  }
  return standard;
}

/// The scale factors as numbers, also where sizes are given.
Result<Reals> scale_factors(const Instance& in) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<ResizedAxis> axes, resized_axes(in));
  Reals scales;
  for (const ResizedAxis& axis : axes) {
    if (!axis.numerator.is_constant() || !axis.denominator.is_constant())
      return unsupported("operator sets before 11 resize by constant factors only");
    scales.push_back(static_cast<double>(axis.numerator.offset()) /
                     static_cast<double>(axis.denominator.offset()));
  }
  return scales;
}

Result<ExportedCall> export_upsample(const Instance& in, int opset, ExportedCall standard) {
  LEMMA_ASSIGN_OR_RETURN(const Reals scales, scale_factors(in));
  const auto [least, greatest] = std::minmax_element(scales.begin(), scales.end());
  const bool enlarges = least == scales.end() || *least >= 1;
  const bool shrinks = greatest == scales.end() || *greatest <= 1;
  const std::string &mode = in.attributes.string("mode"),
                    &nearest = in.attributes.string("nearest_mode");
  const bool rounds_alike = mode == "linear" || (nearest == "floor" && enlarges) ||
                            (nearest == "ceil" && shrinks && opset == 10);
  if (mode == "cubic" || in.attributes.integer("antialias") != 0 || !rounds_alike ||
      (opset < 10 && !enlarges) ||
      in.attributes.string("coordinate_transformation_mode") != "asymmetric")
    return unsupported(fmt::format("operator set {} cannot resize like this", opset));
  standard.attributes = Attributes{{"mode", mode}};
  standard.inputs = {OnnxOperandInput{0}};
  if (opset < 9)
    standard.attributes.set("scales", scales);
  else
    standard.inputs.emplace_back(f32_vector(scales));
  return standard;
}

constexpr std::array resize_parameters = {
    OnnxParameter{"roi", 1, 11}, OnnxParameter{"scales", 2, 11}, OnnxParameter{"sizes", 3, 11}};
constexpr std::array scales_parameters = {OnnxParameter{"scales", 1, 9}};
constexpr std::array resize_onnx = {OnnxMapping{.name = "Resize",
                                                .since = 11,
                                                .parameters = resize_parameters,
                                                .import_hook = import_resize,
                                                .export_hook = export_resize},
                                    OnnxMapping{.name = "Resize",
                                                .since = 10,
                                                .until = 10,
                                                .parameters = scales_parameters,
                                                .import_hook = import_upsample,
                                                .export_hook = export_upsample},
                                    OnnxMapping{.name = "Upsample",
                                                .since = 7,
                                                .until = 9,
                                                .parameters = scales_parameters,
                                                .import_hook = import_upsample,
                                                .export_hook = export_upsample}};

constexpr std::array resize_examples = {
    OperatorExample{"f32[N, 3, 4, 5]", "scales=[1.0, 1.0, 2.0, 2.0]"},
    OperatorExample{"f32[N, 3, 4, 5]", "scales=[1.0, 1.0, 2.0, 1.5]; mode=\"linear\""},
    OperatorExample{"f32[N, 3, 8, 9]", "scales=[1.0, 1.0, 0.5, 1.0]; mode=\"linear\"; antialias=1"},
    OperatorExample{"f32[N, 3, 4, 5]", "scales=[1.0, 1.0, 2.0, 2.0]; mode=\"cubic\""},
    OperatorExample{"f32[N, 3, 8, 9]", "sizes=[N, 3, 4, 5]; mode=\"cubic\"; antialias=1"},
    OperatorExample{"f32[N, 3, 4, 5]", "sizes=[N, 3, 8, 7]"},
    OperatorExample{"f32[4, 5]",
                    "roi=[0.25, 0.0, 1.25, 1.0]; scales=[2.0, 2.0]; mode=\"linear\"; "
                    "coordinate_transformation_mode=\"tf_crop_and_resize\""},
};

constexpr std::array resampling_records = {
    OperatorRecord{.name = "Resize",
                   .summary = "scales axes by picking or interpolating elements",
                   .inputs = {1, 1},
                   .outputs = {1, 1},
                   .attributes = resize_attributes,
                   .flags = sized_by_reals,
                   .infer = infer_resize,
                   .define = define_resize,
                   .normalize = normalize_resize,
                   .onnx = resize_onnx,
                   .examples = resize_examples},
};
static_assert(is_complete(resampling_records));

}  // namespace

std::span<const OperatorRecord> resampling() { return resampling_records; }

}  // namespace lemma::operators
