#include "ir/operators/families.h"
#include "ir/operators/helpers.h"
#include "ir/operators/windows.h"

#include <array>

#include <fmt/format.h>

namespace lemma::operators {
namespace {

Result<Attributes> normalize_pool(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 3));
  const std::size_t spatial = in.rank(0) - 2;
  const Shape& kernel = in.attributes.dimensions("kernel_shape");
  if (kernel.size() != spatial)
    return bad_input(fmt::format("kernel_shape {} does not have {} sizes", text(kernel), spatial));
  for (const Dimension& size : kernel)
    if (size.is_constant() && size.offset() < 1)
      return bad_input(fmt::format("kernel_shape {} is not positive", text(kernel)));
  return complete_window(in, spatial);
}

bool ceil_mode(const Instance& in) { return in.attributes.integer("ceil_mode") != 0; }

std::vector<WindowAxis> pool_axes(const Instance& in) {
  return window_axes(in, in.attributes.dimensions("kernel_shape"));
}

Result<Shape> pooled_shape(const Instance& in) {
  Shape shape = {in.shape(0)[0], in.shape(0)[1]};
  for (const WindowAxis& axis : pool_axes(in)) {
    LEMMA_ASSIGN_OR_RETURN(Dimension count, window_count(axis, ceil_mode(in)));
    shape.push_back(std::move(count));
  }
  return shape;
}

Result<ImportedCall> import_pool(const OnnxCall& call, ImportedCall standard) {
  LEMMA_RETURN_IF_ERROR(
      only_attributes(call, {"auto_pad", "kernel_shape", "strides", "pads", "dilations",
                             "ceil_mode", "storage_order", "count_include_pad", "p"}));
  if (!standard.attributes.has("kernel_shape")) return bad_input("kernel_shape is missing");
  const Shape kernel = standard.attributes.dimensions("kernel_shape");
  LEMMA_RETURN_IF_ERROR(resolve_auto_pad(call, kernel, standard));
  return standard;
}

/// The elements of a window: variables, position in the input, and whether it is not padding.
struct Window {
  std::vector<Expression> bound, position;
  Expression guard;
};

Window window_at(DefinitionBuilder& d, const Instance& in, const std::vector<Expression>& axes) {
  Window window{{}, {axes[0], axes[1]}, d.integer(1, DataType::boolean)};
  const std::vector<WindowAxis> windows = pool_axes(in);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const Expression k = reduction_index(d, windows[i].kernel, window.bound);
    window.position.push_back(window_position(d, windows[i], axes[2 + i], k));
    window.guard = window.guard && inside(d, windows[i], window.position.back(), ceil_mode(in));
  }
  return window;
}

// ---- MaxPool ----------------------------------------------------------------------------------

Result<std::vector<TensorType>> infer_max_pool(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::numeric));
  LEMMA_ASSIGN_OR_RETURN(const Shape shape, pooled_shape(in));
  std::vector<TensorType> types = {{in.type(0), shape}};
  if (in.output_count == 2) types.push_back({DataType::i64, shape});
  return types;
}

Expression window_maximum(DefinitionBuilder& d, const Instance& in,
                          const std::vector<Expression>& axes) {
  const Window window = window_at(d, in, axes);
  return d.reduce(ExpressionKind::maximum_over, window.bound,
                  d.select(window.guard, d.read(0, in.type(0), window.position),
                           d.lowest(in.type(0))));
}

/// Row-major position in `shape` to the position with the spatial axes in reverse order.
Expression reverse_spatial_order(DefinitionBuilder& d, const Shape& shape, Expression position) {
  Expression remaining = position, result = d.integer(0);
  Dimension weight = element_count(part(shape, 2, shape.size()));
  for (std::size_t i = shape.size(); i-- > 2;) {
    const auto smaller = exact_div(weight, shape[i]);
    weight = smaller ? *smaller : floor_div(weight, shape[i]);
    result = result + d.floor_mod(remaining, shape[i]) * weight;
    remaining = d.floor_div(remaining, shape[i]);
  }
  return remaining * element_count(part(shape, 2, shape.size())) + result;
}

/// The first position, in row-major order, that holds the maximum of the window.
void define_max_pool_indices(DefinitionBuilder& d, const Instance& in) {
  const Shape& shape = in.shape(0);
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_max_pool));
  const Expression greatest = window_maximum(d, in, axes);
  const Window window = window_at(d, in, axes);
  const Expression found = window.guard && (d.read(0, in.type(0), window.position) == greatest);
  Expression index = d.reduce(ExpressionKind::minimum_over, window.bound,
                              d.select(found, flat_index(d, shape, window.position),
                                       d.highest(DataType::i64)));
  if (in.attributes.integer("storage_order") != 0) index = reverse_spatial_order(d, shape, index);
  d.output(axes, index);
}

Definition define_max_pool(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_max_pool));
  d.output(axes, window_maximum(d, in, axes));
  if (in.output_count == 2) define_max_pool_indices(d, in);
  return std::move(d).finish();
}

/// Attributes that an operator set does not know yet are left out where they have no effect.
Result<ExportedCall> export_max_pool(const Instance& in, int opset, ExportedCall standard) {
  if (in.attributes.integer("storage_order") == 0) standard.attributes.erase("storage_order");
  if (opset >= 10) return standard;
  for (const Dimension& dilation : in.attributes.dimensions("dilations"))
    if (!dilation.is(1)) return unsupported("pools have dilations since operator set 10");
  if (ceil_mode(in)) return unsupported("pools have ceil_mode since operator set 10");
  standard.attributes.erase("dilations");
  standard.attributes.erase("ceil_mode");
  return standard;
}

constexpr std::array max_pool_attributes = {
    AttributeSpecification{"kernel_shape", AttributeKind::dimensions, "required"},
    AttributeSpecification{"strides", AttributeKind::dimensions, "optional"},
    AttributeSpecification{"pads", AttributeKind::dimensions, "optional"},
    AttributeSpecification{"dilations", AttributeKind::dimensions, "optional"},
    AttributeSpecification{"ceil_mode", AttributeKind::integer, "0"},
    AttributeSpecification{"storage_order", AttributeKind::integer, "0"}};
constexpr std::array max_pool_onnx = {OnnxMapping{.name = "MaxPool",
                                                  .since = 1,
                                                  .import_hook = import_pool,
                                                  .export_hook = export_max_pool}};

constexpr std::array records = {
    OperatorRecord{.name = "MaxPool",
                   .summary = "maximum over sliding windows, and optionally its position",
                   .inputs = {1, 1},
                   .outputs = {1, 2},
                   .attributes = max_pool_attributes,
                   .infer = infer_max_pool,
                   .define = define_max_pool,
                   .normalize = normalize_pool,
                   .onnx = max_pool_onnx},
};
static_assert(is_complete(records));

}  // namespace

std::span<const OperatorRecord> pooling() { return records; }

}  // namespace lemma::operators
