#include <array>
#include <functional>

#include <fmt/format.h>

#include "operators/families.h"
#include "operators/helpers.h"
#include "operators/indices.h"
#include "operators/sizes.h"

// Scatter operators: data with some elements replaced by, or combined with, updates. Seen from an
// output element, the updates that hit it are those whose index is its position. Where several
// replace it, ONNX leaves open which one stays; here it is the last one.

namespace lemma::operators {
namespace {

enum class Combination { replace, add, multiply, maximum, minimum };

Combination combination(const Instance& in) {
  const std::string& reduction = in.attributes.string("reduction");
  if (reduction == "add") return Combination::add;
  if (reduction == "mul") return Combination::multiply;
  if (reduction == "max") return Combination::maximum;
  if (reduction == "min") return Combination::minimum;
  return Combination::replace;
}

Result<void> check_scatter(const Instance& in) {
  const std::string& reduction = in.attributes.string("reduction");
  const bool replaces = combination(in) == Combination::replace;
  if (replaces && reduction != "none")
    return bad_input(fmt::format("reduction '{}' is not known", reduction));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 1));
  LEMMA_RETURN_IF_ERROR(require_type(in, 0, replaces ? TypeSet::any : TypeSet::numeric));
  LEMMA_RETURN_IF_ERROR(require_type(in, 1, TypeSet::integer));
  if (in.type(2) != in.type(0))
    return bad_input(
        fmt::format("the updates are {}, but the data is {}", name(in.type(2)), name(in.type(0))));
  return {};
}

/// All updates of an output element: variables, whether one hits it, and its value.
struct Updates {
  std::vector<Expression> bound;
  Shape extents;  // of `bound`
  Expression hits;
  /// The value of the update at these positions, in place of the variables.
  std::function<Expression(const std::vector<Expression>&)> value;
};

Expression combined(DefinitionBuilder& d, const Instance& in, Expression old,
                    const Updates& updates) {
  const DataType type = in.type(0);
  const Expression update = updates.value(updates.bound);
  auto fold = [&](ExpressionKind kind, Expression neutral) {
    return d.reduce(kind, updates.bound, d.select(updates.hits, update, neutral));
  };
  switch (combination(in)) {
    case Combination::add: return old + fold(ExpressionKind::sum, d.constant(0, type));
    case Combination::multiply: return old * fold(ExpressionKind::product, d.constant(1, type));
    case Combination::maximum:
      return maximum(old, fold(ExpressionKind::maximum_over, d.lowest(type)));
    case Combination::minimum:
      return minimum(old, fold(ExpressionKind::minimum_over, d.highest(type)));
    case Combination::replace: break;
  }
  const Expression position = flat_index(d, updates.extents, updates.bound);
  const Expression last = d.reduce(ExpressionKind::maximum_over, updates.bound,
                                   d.select(updates.hits, position, d.integer(-1)));
  return d.select(d.integer(0) <= last, updates.value(unflattened(d, updates.extents, last)), old);
}

// ---- ScatterElements --------------------------------------------------------------------------

Result<std::vector<TensorType>> infer_scatter_elements(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(check_scatter(in));
  const Shape &data = in.shape(0), &indices = in.shape(1), &updates = in.shape(2);
  bool fits = indices.size() == data.size() && updates.size() == data.size();
  for (std::size_t i = 0; fits && i < data.size(); ++i)
    fits = agree(in, indices[i], updates[i]).has_value();
  if (!fits)
    return bad_input(fmt::format("data {}, indices {} and updates {} do not fit together",
                                 text(data), text(indices), text(updates)));
  return std::vector<TensorType>{in.inputs[0]};
}

Definition define_scatter_elements(const Instance& in) {
  DefinitionBuilder d;
  const auto axis = static_cast<std::size_t>(in.attributes.integer("axis"));
  const std::vector<Expression> axes = d.variables(in.shape(0));
  const Shape& extents = in.shape(1);
  Updates updates;
  updates.bound = {d.variable(extents[axis])};
  updates.extents = {extents[axis]};
  auto at = [axes, axis](const std::vector<Expression>& position) {
    std::vector<Expression> indices = axes;
    indices[axis] = position[0];
    return indices;
  };
  Expression covered = d.integer(1, DataType::boolean);
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (i != axis && !(extents[i] == in.shape(0)[i]))
      covered = covered && (axes[i] < d.extent(extents[i]));
  updates.hits =
      covered && (read_index(d, in, 1, at(updates.bound), in.shape(0)[axis]) == axes[axis]);
  updates.value = [&d, &in, at](const std::vector<Expression>& position) {
    return d.read(2, in.type(2), at(position));
  };
  d.output(axes, combined(d, in, d.read(0, in.type(0), axes), updates));
  return std::move(d).finish();
}

// ---- ScatterND --------------------------------------------------------------------------------

Result<std::vector<TensorType>> infer_scatter_nd(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(check_scatter(in));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 1, 1));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t width, index_width(in));
  Shape expected = part(in.shape(1), 0, in.rank(1) - 1);
  const Shape rest = part(in.shape(0), width, in.rank(0));
  expected.insert(expected.end(), rest.begin(), rest.end());
  bool fits = in.rank(2) == expected.size();
  for (std::size_t i = 0; fits && i < expected.size(); ++i)
    fits = agree(in, expected[i], in.shape(2)[i]).has_value();
  if (!fits)
    return bad_input(
        fmt::format("the updates have the shape {}, not {}", text(in.shape(2)), text(expected)));
  return std::vector<TensorType>{in.inputs[0]};
}

Definition define_scatter_nd(const Instance& in) {
  DefinitionBuilder d;
  const std::size_t width = *index_width(in);
  const std::vector<Expression> axes = d.variables(in.shape(0));
  Updates updates;
  updates.extents = part(in.shape(1), 0, in.rank(1) - 1);
  updates.bound = d.variables(updates.extents);
  updates.hits = d.integer(1, DataType::boolean);
  for (std::size_t j = 0; j < width; ++j) {
    std::vector<Expression> at = updates.bound;
    at.push_back(d.integer(static_cast<std::int64_t>(j)));
    updates.hits = updates.hits && (read_index(d, in, 1, at, in.shape(0)[j]) == axes[j]);
  }
  updates.value = [&](const std::vector<Expression>& position) {
    std::vector<Expression> at = position;
    at.insert(at.end(), axes.begin() + static_cast<long>(width), axes.end());
    return d.read(2, in.type(2), at);
  };
  d.output(axes, combined(d, in, d.read(0, in.type(0), axes), updates));
  return std::move(d).finish();
}

// ---- TensorScatter ------------------------------------------------------------------------------

/// Inputs: a cache, updates, and optionally for each entry of the batch (axis 0) where they begin along `axis`.
Result<std::vector<TensorType>> infer_tensor_scatter(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_type(in, 0, TypeSet::any));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 2));
  const auto axis = static_cast<std::size_t>(in.attributes.integer("axis"));
  if (axis == 0) return bad_input("axis 0 is that of the batch");
  if (in.type(1) != in.type(0))
    return bad_input(fmt::format("updates {} for {}", name(in.type(1)), name(in.type(0))));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 1, in.rank(0), in.rank(0)));
  for (std::size_t i = 0; i < in.rank(0); ++i)
    if (i != axis)
      LEMMA_RETURN_IF_ERROR(
          require_same_size(in, in.shape(1)[i], in.shape(0)[i], "sizes of cache and updates"));
  if (!in.is_at_most(in.shape(1)[axis], in.shape(0)[axis]))
    return bad_input(
        fmt::format("updates {} for a cache {}", text(in.shape(1)), text(in.shape(0))));
  if (in.has(2)) {
    if (in.type(2) != DataType::i64) return bad_input("the positions are no 64-bit integers");
    LEMMA_RETURN_IF_ERROR(require_rank(in, 2, 1, 1));
    LEMMA_RETURN_IF_ERROR(
        require_same_size(in, in.shape(2)[0], in.shape(0)[0], "sizes of the batch"));
  }
  return std::vector<TensorType>{{in.type(0), in.shape(0)}};
}

/// Each element of the cache asks which update it takes.
Definition define_tensor_scatter(const Instance& in) {
  DefinitionBuilder d;
  const auto axis = static_cast<std::size_t>(in.attributes.integer("axis"));
  const std::vector<Expression> axes = d.variables(in.shape(0));
  Expression number = axes[axis];
  if (in.has(2)) number = number - d.read(2, DataType::i64, {axes[0]});
  if (in.attributes.string("mode") == "circular") number = d.floor_mod(number, in.shape(0)[axis]);
  std::vector<Expression> at = axes;
  at[axis] = number;
  d.output(axes, d.select(d.in_range(number, in.shape(1)[axis]), d.read(1, in.type(1), at),
                          d.read(0, in.type(0), axes)));
  return std::move(d).finish();
}

constexpr std::array tensor_scatter_modes = {std::string_view("circular"),
                                             std::string_view("linear")};
constexpr std::array tensor_scatter_attributes = {
    AttributeSpecification{"axis", AttributeKind::integer, "-2", AttributeRole::axis},
    AttributeSpecification{"mode", AttributeKind::string, "\"linear\"", AttributeRole::plain,
                           tensor_scatter_modes}};
constexpr std::array tensor_scatter_onnx = {OnnxMapping{.name = "TensorScatter", .since = 24}};

// ---- records ----------------------------------------------------------------------------------

Result<ExportedCall> export_scatter(const Instance& in, int opset, ExportedCall standard) {
  const Combination kind = combination(in);
  const bool extremum = kind == Combination::maximum || kind == Combination::minimum;
  if (opset < 16 && kind != Combination::replace)
    return unsupported("reductions of scattered updates need operator set 16");
  if (opset < 18 && extremum)
    return unsupported("extrema of scattered updates need operator set 18");
  if (opset < 16) standard.attributes.erase("reduction");
  return standard;
}

constexpr AttributeSpecification reduction_attribute = {"reduction", AttributeKind::string,
                                                        "\"none\""};
constexpr std::array scatter_elements_attributes = {
    AttributeSpecification{"axis", AttributeKind::integer, "0", AttributeRole::axis},
    reduction_attribute};
constexpr std::array scatter_nd_attributes = {reduction_attribute};
constexpr std::array scatter_elements_onnx = {
    OnnxMapping{.name = "ScatterElements", .since = 11, .export_hook = export_scatter},
    OnnxMapping{.name = "Scatter", .since = 9, .until = 10, .export_hook = export_scatter}};
constexpr std::array scatter_nd_onnx = {
    OnnxMapping{.name = "ScatterND", .since = 11, .export_hook = export_scatter}};

constexpr std::array scattering_records = {
    OperatorRecord{.name = "ScatterElements",
                   .summary = "writes updates along an axis, an index for each",
                   .inputs = {3, 3},
                   .outputs = {1, 1},
                   .attributes = scatter_elements_attributes,
                   .infer = infer_scatter_elements,
                   .define = define_scatter_elements,
                   .onnx = scatter_elements_onnx},
    OperatorRecord{.name = "ScatterND",
                   .summary = "writes updates to the slices that vectors of indices name",
                   .inputs = {3, 3},
                   .outputs = {1, 1},
                   .attributes = scatter_nd_attributes,
                   .infer = infer_scatter_nd,
                   .define = define_scatter_nd,
                   .onnx = scatter_nd_onnx},
    OperatorRecord{.name = "TensorScatter",
                   .summary = "writes updates into a cache, from a position on that each entry of "
                              "the batch has",
                   .inputs = {2, 3},
                   .attributes = tensor_scatter_attributes,
                   .infer = infer_tensor_scatter,
                   .define = define_tensor_scatter,
                   .onnx = tensor_scatter_onnx},
};
static_assert(is_complete(scattering_records));

}  // namespace

std::span<const OperatorRecord> scattering() { return scattering_records; }

}  // namespace lemma::operators
