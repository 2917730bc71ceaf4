#include "operators/families.h"
#include "operators/helpers.h"
#include "operators/sizes.h"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

namespace lemma::operators {
namespace {

// ---- Transpose --------------------------------------------------------------------------------

Result<Attributes> normalize_transpose(const Instance& in) {
  const std::size_t rank = in.rank(0);
  Attributes attributes = in.attributes;
  if (!attributes.has("perm")) {
    Integers reversed(rank);
    std::iota(reversed.rbegin(), reversed.rend(), 0);
    attributes.set("perm", std::move(reversed));
    return attributes;
  }
  Integers sorted = attributes.integers("perm");
  std::sort(sorted.begin(), sorted.end());
  Integers expected(rank);
  std::iota(expected.begin(), expected.end(), 0);
  if (sorted != expected)
    return bad_input(fmt::format("perm {} is not a permutation of {} axes",
                                 text(*attributes.find("perm")), rank));
  return attributes;
}

Result<std::vector<TensorType>> infer_transpose(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::any));
  Shape shape;
  for (const std::int64_t axis : in.attributes.integers("perm"))
    shape.push_back(in.shape(0)[static_cast<std::size_t>(axis)]);
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}

Definition define_transpose(const Instance& in) {
  DefinitionBuilder d;
  const Integers& perm = in.attributes.integers("perm");
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_transpose));
  std::vector<Expression> indices(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i)
    indices[static_cast<std::size_t>(perm[i])] = axes[i];
  d.output(axes, d.read(0, in.type(0), indices));
  return std::move(d).finish();
}

constexpr std::array transpose_attributes = {AttributeSpecification{
    "perm", AttributeKind::integers, "optional", AttributeRole::permutation}};
constexpr std::array transpose_onnx = {OnnxMapping{.name = "Transpose", .since = 1}};

// ---- Concat -----------------------------------------------------------------------------------

Result<std::vector<TensorType>> infer_concat(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::any));
  const auto axis = static_cast<std::size_t>(in.attributes.integer("axis"));
  Shape shape = in.shape(0);
  for (std::size_t i = 1; i < in.inputs.size(); ++i) {
    if (!in.has(i)) return bad_input(fmt::format("input {} is missing", i));
    const Shape& other = in.shape(i);
    bool fits = other.size() == shape.size();
    for (std::size_t j = 0; fits && j < shape.size(); ++j) {
      const auto size = j == axis ? shape[j] + other[j] : agree(in, shape[j], other[j]);
      fits = size.has_value();
      if (fits) shape[j] = *size;
    }
    if (!fits)
      return bad_input(fmt::format("shapes {} and {} cannot be concatenated along axis {}",
                                   text(in.shape(0)), text(other), axis));
  }
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}

Definition define_concat(const Instance& in) {
  DefinitionBuilder d;
  const auto axis = static_cast<std::size_t>(in.attributes.integer("axis"));
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_concat));
  Dimension end = output_shape(in, infer_concat)[axis];
  Expression value;
  for (std::size_t i = in.inputs.size(); i-- > 0;) {
    end = end - in.shape(i)[axis];
    std::vector<Expression> indices = axes;
    indices[axis] = axes[axis] - end;
    const Expression element = d.read(static_cast<std::uint32_t>(i), in.type(0), indices);
    const bool last = i + 1 == in.inputs.size();
    value =
        last ? element : d.select(axes[axis] < d.extent(end + in.shape(i)[axis]), element, value);
  }
  d.output(axes, value);
  return std::move(d).finish();
}

constexpr std::array concat_attributes = {
    AttributeSpecification{"axis", AttributeKind::integer, "required", AttributeRole::axis}};
constexpr std::array concat_onnx = {OnnxMapping{.name = "Concat", .since = 4}};

// ---- Split ------------------------------------------------------------------------------------

/// Normalizes Split: without sizes the parts are equal, but for a smaller last one.
Result<Attributes> normalize_split(const Instance& in) {
  Attributes attributes = in.attributes;
  const Dimension& size = in.shape(0)[static_cast<std::size_t>(attributes.integer("axis"))];
  const auto count = static_cast<std::int64_t>(in.output_count);
  if (!attributes.has("split")) {
    const Dimension part = ceil_div(size, count);
    Shape parts(in.output_count, part);
    parts.back() = size - part * (count - 1);
    attributes.set("split", std::move(parts));
  }
  const Shape& parts = attributes.dimensions("split");
  if (parts.size() != in.output_count)
    return bad_input(fmt::format("split {} is given for {} outputs", text(parts), count));
  return attributes;
}

Result<void> check_parts(const Instance& in) {
  const Shape& parts = in.attributes.dimensions("split");
  const Dimension& size = in.shape(0)[static_cast<std::size_t>(in.attributes.integer("axis"))];
  Dimension sum(0);
  for (const Dimension& part : parts) {
    if (!in.is_at_most(0, part))
      return bad_input(fmt::format("split {} has a negative size", text(parts)));
    sum = sum + part;
  }
  if (agree(in, sum, size)) return {};
  std::string reason = fmt::format("split {} does not add up to {}", text(parts), size.text());
  // Sizes that differ as expressions may be equal at run time.
  return (sum - size).is_constant() ? bad_input(std::move(reason)) : unsupported(std::move(reason));
}

Result<std::vector<TensorType>> infer_split(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(check_parts(in));
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::any));
  std::vector<TensorType> types;
  for (const Dimension& part : in.attributes.dimensions("split")) {
    Shape shape = in.shape(0);
    shape[static_cast<std::size_t>(in.attributes.integer("axis"))] = part;
    types.push_back({in.type(0), std::move(shape)});
  }
  return types;
}

Definition define_split(const Instance& in) {
  DefinitionBuilder d;
  const auto axis = static_cast<std::size_t>(in.attributes.integer("axis"));
  Dimension begin(0);
  for (const Dimension& part : in.attributes.dimensions("split")) {
    Shape shape = in.shape(0);
    shape[axis] = part;
    const std::vector<Expression> axes = d.variables(shape);
    std::vector<Expression> indices = axes;
    indices[axis] = axes[axis] + begin;
    d.output(axes, d.read(0, in.type(0), indices));
    begin = begin + part;
  }
  return std::move(d).finish();
}

Result<ImportedCall> import_split(const OnnxCall& call, ImportedCall standard) {
  LEMMA_RETURN_IF_ERROR(only_attributes(call, {"axis", "split", "num_outputs"}));
  const auto count = static_cast<std::int64_t>(call.output_count);
  if (integer_or(call, "num_outputs", count) != count)
    return bad_input(fmt::format("num_outputs is not the number of outputs, {}", count));
  return standard;
}

/// Equal parts are what an operator set says without sizes; from 18 on it has to be told how many.
Result<ExportedCall> export_split(const Instance& in, int opset, ExportedCall exported) {
  constexpr int count_since = 18;
  const Shape& parts = in.attributes.dimensions("split");
  const auto count = static_cast<std::int64_t>(parts.size());
  const Dimension& size = in.shape(0)[static_cast<std::size_t>(in.attributes.integer("axis"))];
  const Dimension part = ceil_div(size, count);
  if (size != part * count || std::count(parts.begin(), parts.end(), part) != count)
    return exported;
  exported.attributes.erase("split");
  exported.inputs.resize(1);
  if (opset >= count_since) exported.attributes.set("num_outputs", count);
  return exported;
}

constexpr std::array split_attributes = {
    AttributeSpecification{"axis", AttributeKind::integer, "0", AttributeRole::axis},
    AttributeSpecification{"split", AttributeKind::dimensions, "optional"}};
constexpr std::array split_parameters = {
    OnnxParameter{.attribute = "split", .input = 1, .input_since = 13}};
constexpr std::array split_onnx = {OnnxMapping{.name = "Split",
                                               .since = 2,
                                               .parameters = split_parameters,
                                               .import_hook = import_split,
                                               .export_hook = export_split}};

constexpr std::array movement_records = {
    OperatorRecord{.name = "Transpose",
                   .summary = "permutes the axes",
                   .inputs = {1, 1},
                   .outputs = {1, 1},
                   .attributes = transpose_attributes,
                   .flags = data_movement | linear,
                   .infer = infer_transpose,
                   .define = define_transpose,
                   .normalize = normalize_transpose,
                   .onnx = transpose_onnx},
    OperatorRecord{.name = "Concat",
                   .summary = "joins tensors along an axis",
                   .inputs = {1, -1},
                   .outputs = {1, 1},
                   .attributes = concat_attributes,
                   .flags = data_movement | keeps_axes | reads_inside,
                   .infer = infer_concat,
                   .define = define_concat,
                   .onnx = concat_onnx},
    OperatorRecord{.name = "Split",
                   .summary = "cuts a tensor into consecutive parts along an axis",
                   .inputs = {1, 1},
                   .outputs = {1, -1},
                   .attributes = split_attributes,
                   .flags = data_movement | linear | keeps_axes | reads_inside,
                   .infer = infer_split,
                   .define = define_split,
                   .normalize = normalize_split,
                   .onnx = split_onnx},
};
static_assert(is_complete(movement_records));

}  // namespace

std::span<const OperatorRecord> movement() { return movement_records; }

}  // namespace lemma::operators
