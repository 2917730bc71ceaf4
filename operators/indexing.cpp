#include <array>

#include <fmt/format.h>

#include "operators/families.h"
#include "operators/helpers.h"
#include "operators/indices.h"
#include "operators/sizes.h"

namespace lemma::operators {

Expression read_index(DefinitionBuilder& d, const Instance& in, std::uint32_t input,
                      const std::vector<Expression>& at, const Dimension& size) {
  const Expression index = d.cast(d.read(input, in.type(input), at), DataType::i64);
  return d.select(index < d.integer(0), index + size, index);
}

namespace {

Result<void> check_data_and_indices(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_type(in, 0, TypeSet::any));
  LEMMA_RETURN_IF_ERROR(require_type(in, 1, TypeSet::integer));
  return require_rank(in, 0, 1);
}

// ---- Gather -----------------------------------------------------------------------------------

Result<std::vector<TensorType>> infer_gather(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(check_data_and_indices(in));
  const auto axis = static_cast<std::size_t>(in.attributes.integer("axis"));
  Shape shape = part(in.shape(0), 0, axis);
  shape.insert(shape.end(), in.shape(1).begin(), in.shape(1).end());
  const Shape rest = part(in.shape(0), axis + 1, in.rank(0));
  shape.insert(shape.end(), rest.begin(), rest.end());
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}

Definition define_gather(const Instance& in) {
  DefinitionBuilder d;
  const auto axis = static_cast<long>(in.attributes.integer("axis"));
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_gather));
  const auto first = axes.begin() + axis, last = first + static_cast<long>(in.rank(1));
  std::vector<Expression> indices(axes.begin(), first);
  indices.push_back(
      read_index(d, in, 1, {first, last}, in.shape(0)[static_cast<std::size_t>(axis)]));
  indices.insert(indices.end(), last, axes.end());
  d.output(axes, d.read(0, in.type(0), indices));
  return std::move(d).finish();
}

// ---- GatherElements ---------------------------------------------------------------------------

Result<std::vector<TensorType>> infer_gather_elements(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(check_data_and_indices(in));
  if (in.rank(1) != in.rank(0))
    return bad_input(fmt::format("data {} and indices {} have different numbers of axes",
                                 text(in.shape(0)), text(in.shape(1))));
  return std::vector<TensorType>{{in.type(0), in.shape(1)}};
}

Definition define_gather_elements(const Instance& in) {
  DefinitionBuilder d;
  const auto axis = static_cast<std::size_t>(in.attributes.integer("axis"));
  const std::vector<Expression> axes = d.variables(in.shape(1));
  std::vector<Expression> indices = axes;
  indices[axis] = read_index(d, in, 1, axes, in.shape(0)[axis]);
  d.output(axes, d.read(0, in.type(0), indices));
  return std::move(d).finish();
}

// ---- GatherND ---------------------------------------------------------------------------------

Result<std::vector<TensorType>> infer_gather_nd(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(check_data_and_indices(in));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 1, 1));
  const std::int64_t batch = in.attributes.integer("batch_dims");
  LEMMA_ASSIGN_OR_RETURN(const std::size_t width, index_width(in));
  if (batch < 0 || static_cast<std::size_t>(batch) >= in.rank(1) ||
      static_cast<std::size_t>(batch) + width > in.rank(0))
    return bad_input(fmt::format("indices {} with batch_dims {} do not fit data {}",
                                 text(in.shape(1)), batch, text(in.shape(0))));
  Shape shape = part(in.shape(1), 0, in.rank(1) - 1);
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch); ++i) {
    const auto size = agree(in, shape[i], in.shape(0)[i]);
    if (!size)
      return bad_input(fmt::format("batch axes of indices {} and data {} differ", text(in.shape(1)),
                                   text(in.shape(0))));
    shape[i] = *size;
  }
  const Shape rest = part(in.shape(0), static_cast<std::size_t>(batch) + width, in.rank(0));
  shape.insert(shape.end(), rest.begin(), rest.end());
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}

Definition define_gather_nd(const Instance& in) {
  DefinitionBuilder d;
  const auto batch = static_cast<long>(in.attributes.integer("batch_dims"));
  const std::size_t width = *index_width(in);
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_gather_nd));
  const auto outer = axes.begin() + (static_cast<long>(in.rank(1)) - 1);
  std::vector<Expression> indices(axes.begin(), axes.begin() + batch);
  for (std::size_t j = 0; j < width; ++j) {
    std::vector<Expression> at(axes.begin(), outer);
    at.push_back(d.integer(static_cast<std::int64_t>(j)));
    indices.push_back(read_index(d, in, 1, at, in.shape(0)[static_cast<std::size_t>(batch) + j]));
  }
  indices.insert(indices.end(), outer, axes.end());
  d.output(axes, d.read(0, in.type(0), indices));
  return std::move(d).finish();
}

// ---- OneHot -----------------------------------------------------------------------------------

Result<Attributes> normalize_one_hot(const Instance& in) {
  Attributes attributes = in.attributes;
  const auto limit = static_cast<std::int64_t>(in.rank(0)) + 1;
  std::int64_t axis = attributes.integer("axis");
  if (axis < -limit || axis >= limit)
    return bad_input(fmt::format("axis {} is out of range for {} axes", axis, limit));
  if (axis < 0) axis += limit;
  attributes.set("axis", axis);
  return attributes;
}

Result<std::vector<TensorType>> infer_one_hot(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_type(in, 0, TypeSet::numeric));
  LEMMA_RETURN_IF_ERROR(require_type(in, 1, TypeSet::any));
  if (in.rank(1) != 1 || !agree(in, in.shape(1)[0], Dimension(2)))
    return bad_input(fmt::format("the values have the shape {}, not [2]", text(in.shape(1))));
  Shape shape = in.shape(0);
  shape.insert(shape.begin() + in.attributes.integer("axis"), in.attributes.dimension("depth"));
  return std::vector<TensorType>{{in.type(1), std::move(shape)}};
}

Definition define_one_hot(const Instance& in) {
  DefinitionBuilder d;
  const auto axis = in.attributes.integer("axis");
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_one_hot));
  std::vector<Expression> at = axes;
  at.erase(at.begin() + axis);
  const Expression hot = read_index(d, in, 0, at, in.attributes.dimension("depth"));
  d.output(axes,
           d.select(hot == axes[static_cast<std::size_t>(axis)],
                    d.read(1, in.type(1), {d.integer(1)}), d.read(1, in.type(1), {d.integer(0)})));
  return std::move(d).finish();
}

// ---- TopK -------------------------------------------------------------------------------------

Result<std::vector<TensorType>> infer_top_k(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::numeric));
  const auto axis = static_cast<std::size_t>(in.attributes.integer("axis"));
  const Dimension& k = in.attributes.dimension("k");
  Shape shape = in.shape(0);
  if (!in.is_at_most(0, k) || !in.is_at_most(k, shape[axis]))
    return bad_input(fmt::format("k is {}, but axis {} of {} has the size {}", k.text(), axis,
                                 text(shape), shape[axis].text()));
  shape[axis] = k;
  return std::vector<TensorType>{{in.type(0), shape}, {DataType::i64, shape}};
}

/// Whether a is above b in the order in which NaN is above all numbers.
Expression is_above(DefinitionBuilder& d, Expression a, Expression b) {
  if (!is_real(a.type())) return b < a;
  const auto is_nan = [&d](Expression x) { return d.apply(ScalarFunction::is_nan, x); };
  return b < a || (is_nan(a) && !is_nan(b));
}

/// Position of the element whose rank, the number of elements that come before it, is asked for.
/// Of equal elements, and of NaN, the first one comes first.
Expression position_of_rank(DefinitionBuilder& d, const Instance& in,
                            const std::vector<Expression>& axes) {
  const auto axis = static_cast<std::size_t>(in.attributes.integer("axis"));
  const bool largest = in.attributes.integer("largest") != 0;
  const Expression candidate = d.variable(in.shape(0)[axis]);
  const Expression other = d.variable(in.shape(0)[axis]);
  auto element = [&](Expression position) {
    std::vector<Expression> at = axes;
    at[axis] = position;
    return d.read(0, in.type(0), at);
  };
  const Expression x = element(candidate), y = element(other);
  const Expression above = is_above(d, x, y), below = is_above(d, y, x);
  const Expression before = (largest ? below : above) || (!above && !below && other < candidate);
  const Expression rank = d.sum({other}, d.select(before, d.integer(1), d.integer(0)));
  // Exactly one element has the rank; for bounds of positions the others lie within the axis too.
  const Expression last = d.extent(in.shape(0)[axis]) - d.integer(1);
  return d.reduce(ExpressionKind::minimum_over, {candidate},
                  d.select(rank == axes[axis], candidate, last));
}

Definition define_top_k(const Instance& in) {
  DefinitionBuilder d;
  const auto axis = static_cast<std::size_t>(in.attributes.integer("axis"));
  const Shape shape = output_shape(in, infer_top_k);
  const std::vector<Expression> axes = d.variables(shape);
  std::vector<Expression> at = axes;
  at[axis] = position_of_rank(d, in, axes);
  d.output(axes, d.read(0, in.type(0), at));
  const std::vector<Expression> again = d.variables(shape);
  d.output(again, position_of_rank(d, in, again));
  return std::move(d).finish();
}

Result<ExportedCall> export_top_k(const Instance& in, int opset, ExportedCall standard) {
  if (opset >= 11) return standard;
  if (in.attributes.integer("largest") == 0)
    return unsupported("the smallest elements need operator set 11");
  standard.attributes.erase("largest");
  standard.attributes.erase("sorted");
  return standard;
}

constexpr std::array axis_attributes = {
    AttributeSpecification{"axis", AttributeKind::integer, "0", AttributeRole::axis}};
constexpr std::array gather_nd_attributes = {
    AttributeSpecification{"batch_dims", AttributeKind::integer, "0"}};
constexpr std::array one_hot_attributes = {
    AttributeSpecification{"axis", AttributeKind::integer, "-1"},
    AttributeSpecification{"depth", AttributeKind::dimension}};
constexpr std::array top_k_attributes = {
    AttributeSpecification{"axis", AttributeKind::integer, "-1", AttributeRole::axis},
    AttributeSpecification{"k", AttributeKind::dimension},
    AttributeSpecification{"largest", AttributeKind::integer, "1"},
    AttributeSpecification{"sorted", AttributeKind::integer, "1"}};

Result<ExportedCall> export_gather_nd(const Instance& in, int opset, ExportedCall standard) {
  if (opset >= 12) return standard;
  if (in.attributes.integer("batch_dims") != 0)
    return unsupported("batch_dims needs operator set 12");
  standard.attributes.erase("batch_dims");
  return standard;
}

/// Written as a vector: TopK wants one element, not a scalar.
Result<ExportedCall> export_k(const Instance& in, int opset, ExportedCall standard) {
  if (opset >= 10) standard.inputs[1] = OnnxIntegersInput{{in.attributes.dimension("k")}, false};
  return export_top_k(in, opset, std::move(standard));
}

/// ONNX Runtime lacks kernels for an i64 depth beside some types of indices and values.
Result<ExportedCall> export_one_hot(const Instance& in, int, ExportedCall standard) {
  const Dimension& depth = in.attributes.dimension("depth");
  if (!depth.is_constant()) return standard;
  const DataType indices = in.type(0), values = in.type(1);
  if ((indices == DataType::f32 && values == DataType::f32) ||
      (indices == DataType::i64 && values == DataType::i32))
    standard.inputs[1] =
        Constant::of(DataType::f32, {}, std::vector{static_cast<float>(depth.offset())});
  if (indices == DataType::i32 && values == DataType::f32)
    standard.inputs[1] =
        Constant::of(DataType::i32, {}, std::vector{static_cast<std::int32_t>(depth.offset())});
  return standard;
}

constexpr std::array one_hot_parameters = {OnnxParameter{"depth", 1, 1}};
constexpr std::array top_k_parameters = {OnnxParameter{"k", 1, 10}};
constexpr std::array gather_onnx = {OnnxMapping{.name = "Gather", .since = 1}};
constexpr std::array gather_elements_onnx = {OnnxMapping{.name = "GatherElements", .since = 11}};
constexpr std::array gather_nd_onnx = {
    OnnxMapping{.name = "GatherND", .since = 11, .export_hook = export_gather_nd}};
constexpr std::array one_hot_onnx = {OnnxMapping{
    .name = "OneHot", .since = 9, .parameters = one_hot_parameters, .export_hook = export_one_hot}};
constexpr std::array top_k_onnx = {OnnxMapping{
    .name = "TopK", .since = 1, .parameters = top_k_parameters, .export_hook = export_k}};

constexpr std::array indexing_records = {
    OperatorRecord{.name = "Gather",
                   .summary = "takes the slices of an axis that an index tensor names",
                   .inputs = {2, 2},
                   .outputs = {1, 1},
                   .attributes = axis_attributes,
                   .flags = data_movement,
                   .infer = infer_gather,
                   .define = define_gather,
                   .onnx = gather_onnx},
    OperatorRecord{.name = "GatherElements",
                   .summary = "takes elements along an axis, an index for each result",
                   .inputs = {2, 2},
                   .outputs = {1, 1},
                   .attributes = axis_attributes,
                   .flags = data_movement,
                   .infer = infer_gather_elements,
                   .define = define_gather_elements,
                   .onnx = gather_elements_onnx},
    OperatorRecord{.name = "GatherND",
                   .summary = "takes the slices that vectors of indices name",
                   .inputs = {2, 2},
                   .outputs = {1, 1},
                   .attributes = gather_nd_attributes,
                   .flags = data_movement,
                   .infer = infer_gather_nd,
                   .define = define_gather_nd,
                   .onnx = gather_nd_onnx},
    OperatorRecord{.name = "OneHot",
                   .summary = "a new axis with one value at the index, another elsewhere",
                   .inputs = {2, 2},
                   .outputs = {1, 1},
                   .attributes = one_hot_attributes,
                   .infer = infer_one_hot,
                   .define = define_one_hot,
                   .normalize = normalize_one_hot,
                   .onnx = one_hot_onnx},
    OperatorRecord{.name = "TopK",
                   .summary = "the k largest or smallest elements of an axis, and their positions",
                   .inputs = {1, 1},
                   .outputs = {2, 2},
                   .attributes = top_k_attributes,
                   .infer = infer_top_k,
                   .define = define_top_k,
                   .onnx = top_k_onnx},
};
static_assert(is_complete(indexing_records));

}  // namespace

Result<std::size_t> index_width(const Instance& in) {
  const Dimension& width = in.shape(1).back();
  if (!width.is_constant())
    return unsupported(fmt::format("index vectors of the symbolic length {}", width.text()));
  if (width.offset() < 0 || width.offset() > static_cast<std::int64_t>(in.rank(0)))
    return bad_input(
        fmt::format("index vectors of length {} for {} axes", width.offset(), in.rank(0)));
  return static_cast<std::size_t>(width.offset());
}

std::span<const OperatorRecord> indexing() { return indexing_records; }

}  // namespace lemma::operators
