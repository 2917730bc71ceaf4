#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "operators/families.h"
#include "operators/helpers.h"
#include "operators/sizes.h"

// Pad. The attribute pads has two elements for every axis, those before first; the ONNX input axes
// is resolved when the node is made.

namespace lemma::operators {
namespace {

Result<Attributes> normalize_pad(const Instance& in) {
  Attributes attributes = in.attributes;
  const std::size_t rank = in.rank(0);
  const Shape given = attributes.dimensions("pads");
  Integers axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (attributes.has("axes")) axes = attributes.integers("axes");
  if (given.size() != 2 * axes.size())
    return bad_input(fmt::format("pads {} are given for {} axes", text(given), axes.size()));
  Shape pads(2 * rank, Dimension(0));
  std::vector<bool> seen(rank, false);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto limit = static_cast<std::int64_t>(rank);
    if (axes[i] < -limit || axes[i] >= limit)
      return bad_input(fmt::format("axis {} is out of range for {} axes", axes[i], rank));
    const auto axis = static_cast<std::size_t>(axes[i] < 0 ? axes[i] + limit : axes[i]);
    if (seen[axis]) return bad_input("axes names an axis twice");
    seen[axis] = true;
    pads[axis] = given[i];
    pads[rank + axis] = given[axes.size() + i];
  }
  attributes.set("pads", std::move(pads));
  attributes.erase("axes");
  return attributes;
}

struct AxisPads {
  Dimension size, before, after;
};

std::vector<AxisPads> axis_pads(const Instance& in) {
  const Shape& pads = in.attributes.dimensions("pads");
  std::vector<AxisPads> result;
  for (std::size_t i = 0; i < in.rank(0); ++i)
    result.push_back({in.shape(0)[i], pads[i], pads[in.rank(0) + i]});
  return result;
}

Result<void> check_mode(const Instance& in) {
  const std::string& mode = in.attributes.string("mode");
  if (mode == "constant") return {};
  if (mode != "reflect" && mode != "edge" && mode != "wrap")
    return bad_input(fmt::format("mode '{}' is not known", mode));
  for (const AxisPads& axis : axis_pads(in)) {
    if (axis.before.is(0) && axis.after.is(0)) continue;
    const Dimension copies = minimum(1, axis.before + axis.after);
    if (axis.size.is(0) || !in.is_at_most(copies, axis.size))
      return bad_input(fmt::format("mode '{}' has nothing to copy", mode));
    if (mode == "edge" && axis.before.is_constant() && axis.after.is_constant()) {
      // What negative pads leave is copied; they remove no edge that is.
      const Dimension left =
          axis.size + minimum(axis.before, Dimension(0)) + minimum(axis.after, Dimension(0));
      if (!in.is_at_most(1, left))
        return bad_input(fmt::format("mode '{}' has nothing to copy", mode));
      continue;
    }
    for (const Dimension& pad : {axis.before, axis.after}) {
      if (!in.is_at_most(0, pad))
        return unsupported(fmt::format("negative pads in mode '{}'", mode));
      // The standard's reference mirrors again and again; ONNX Runtime refuses such a Pad.
      if (mode == "reflect" && !pad.is(0) && !in.is_at_most(pad + 1, axis.size))
        return unsupported("mode 'reflect' with a pad that is not smaller than its axis");
    }
  }
  return {};
}

Result<std::vector<TensorType>> infer_pad(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::wide));
  LEMMA_RETURN_IF_ERROR(check_mode(in));
  Shape shape;
  for (const AxisPads& axis : axis_pads(in)) shape.push_back(axis.before + axis.size + axis.after);
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}

/// Mirrored at the first and the last element, which are not repeated.
Expression reflected(DefinitionBuilder& d, const AxisPads& axis, Expression position) {
  const Dimension last = axis.size - 1;
  if (surely_at_least(last, axis.before) && surely_at_least(last, axis.after)) {
    const Expression distance = maximum(position, d.integer(0) - position);
    return minimum(distance, d.extent(last + last) - distance);
  }
  const Dimension period = maximum(1, last + last);
  const Expression phase = d.floor_mod(position, period);
  return minimum(phase, d.extent(last + last) - phase);
}

Definition define_pad(const Instance& in) {
  DefinitionBuilder d;
  const std::string& mode = in.attributes.string("mode");
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_pad));
  std::vector<Expression> indices;
  Expression inside = d.integer(1, DataType::boolean);
  const std::vector<AxisPads> pads = axis_pads(in);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const AxisPads& axis = pads[i];
    const Expression position = axes[i] - axis.before;
    indices.push_back(position);
    if (axis.before.is(0) && axis.after.is(0)) continue;
    if (mode == "constant") {
      if (!axis.before.is(0)) inside = inside && (d.integer(0) <= position);
      if (!axis.after.is(0)) inside = inside && (position < d.extent(axis.size));
    } else if (mode == "edge") {
      indices.back() = maximum(d.integer(0), minimum(position, d.extent(axis.size - 1)));
    } else if (mode == "wrap") {
      indices.back() = d.floor_mod(position, axis.size);
    } else {
      indices.back() = reflected(d, axis, position);
    }
  }
  const Expression value = d.constant(in.attributes.real("value"), in.type(0));
  d.output(axes, d.select(inside, d.read(0, in.type(0), indices), value));
  return std::move(d).finish();
}

/// The value is the third input since operator set 11.
Result<ImportedCall> import_pad(const OnnxCall& call, ImportedCall standard) {
  LEMMA_RETURN_IF_ERROR(only_attributes(call, {"pads", "mode", "value"}));
  if (call.opset < 11) return standard;
  while (standard.inputs.size() > 1) standard.inputs.pop_back();
  const bool constant_mode = string_or(call, "mode", "constant") == "constant";
  if (!constant_mode || call.inputs.size() < 3 || !call.inputs[2].present()) return standard;
  const Constant* value = call.inputs[2].constant;
  if (value == nullptr) return unsupported("the padding value is not known before run time");
  const std::vector<double> elements = value->reals();
  if (elements.size() != 1) return bad_input("the padding value is not a scalar");
  constexpr double exact_integers = 9007199254740992.0;  // 2^53
  if (!is_real(value->type().data_type) && std::abs(elements[0]) > exact_integers)
    return unsupported("the padding value is a large integer");
  standard.attributes.set("value", elements[0]);
  return standard;
}

Constant scalar_of(DataType type, double value) {
  switch (type) {
    case DataType::f64: return Constant::of(type, {}, std::vector<double>{value});
    case DataType::f32:
      return Constant::of(type, {}, std::vector<float>{static_cast<float>(value)});
    case DataType::f16:
      return Constant::of(type, {}, std::vector{f32_to_f16(static_cast<float>(value))});
    case DataType::bf16:
      return Constant::of(type, {}, std::vector{f32_to_bf16(static_cast<float>(value))});
    default: break;
  }
  const auto integer = static_cast<std::int64_t>(value);
  switch (bits(type)) {
    case 8: return Constant::of(type, {}, std::vector{static_cast<std::int8_t>(integer)});
    case 16: return Constant::of(type, {}, std::vector{static_cast<std::int16_t>(integer)});
    case 32: return Constant::of(type, {}, std::vector{static_cast<std::int32_t>(integer)});
    default: return Constant::of(type, {}, std::vector{integer});
  }
}

Result<ExportedCall> export_pad(const Instance& in, int opset, ExportedCall standard) {
  if (in.attributes.string("mode") == "wrap" && opset < 19)
    return unsupported("mode 'wrap' needs operator set 19");
  if (opset < 11) return standard;
  standard.attributes.erase("value");
  if (in.attributes.string("mode") == "constant" && in.attributes.number("value") != 0) {
    standard.inputs.resize(3, OnnxAbsent{});
    standard.inputs[2] = scalar_of(in.type(0), in.attributes.number("value"));
  }
  return standard;
}

constexpr std::array pad_attributes = {
    AttributeSpecification{"pads", AttributeKind::dimensions},
    AttributeSpecification{"mode", AttributeKind::string, "\"constant\""},
    AttributeSpecification{"value", AttributeKind::real, "0"},
    AttributeSpecification{"axes", AttributeKind::integers, "optional"}};
constexpr std::array pad_parameters = {OnnxParameter{"pads", 1, 11}, OnnxParameter{"axes", 3, 18}};
constexpr std::array pad_onnx = {OnnxMapping{.name = "Pad",
                                             .since = 2,
                                             .parameters = pad_parameters,
                                             .import_hook = import_pad,
                                             .export_hook = export_pad}};

constexpr std::array padding_records = {
    OperatorRecord{.name = "Pad",
                   .summary = "adds elements around a tensor: a value, or copies of its own",
                   .inputs = {1, 1},
                   .outputs = {1, 1},
                   .attributes = pad_attributes,
                   .flags = data_movement | reads_inside,
                   .infer = infer_pad,
                   .define = define_pad,
                   .normalize = normalize_pad,
                   .onnx = pad_onnx},
};
static_assert(is_complete(padding_records));

}  // namespace

std::span<const OperatorRecord> padding() { return padding_records; }

}  // namespace lemma::operators
