#include "operators/families.h"
#include "operators/helpers.h"
#include "operators/windows.h"

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
  return complete_window(in, spatial);
}

bool ceil_mode(const Instance& in) { return in.attributes.integer("ceil_mode") != 0; }

std::vector<WindowAxis> pool_axes(const Instance& in) {
  return window_axes(in, in.attributes.dimensions("kernel_shape"));
}

Result<Shape> pooled_shape(const Instance& in) {
  Shape shape = {in.shape(0)[0], in.shape(0)[1]};
  LEMMA_RETURN_IF_ERROR(require_positive(in, "kernel_shape"));
  LEMMA_RETURN_IF_ERROR(require_windows(in));
  for (const WindowAxis& axis : pool_axes(in)) {
    LEMMA_ASSIGN_OR_RETURN(Dimension count, window_count(in, axis, ceil_mode(in)));
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
  return d.reduce(
      ExpressionKind::maximum_over, window.bound,
      d.select(window.guard, d.read(0, in.type(0), window.position), d.lowest(in.type(0))));
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

/// The first position, in row-major order, that holds the maximum of the window. A window with a NaN has
/// the maximum NaN, which equals no element: the first NaN is the position.
void define_max_pool_indices(DefinitionBuilder& d, const Instance& in) {
  const Shape& shape = in.shape(0);
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_max_pool));
  const Expression greatest = window_maximum(d, in, axes);
  const Window window = window_at(d, in, axes);
  const Expression element = d.read(0, in.type(0), window.position);
  Expression is_greatest = element == greatest;
  if (is_real(in.type(0))) is_greatest = is_greatest || d.apply(ScalarFunction::is_nan, element);
  const Expression is_chosen = window.guard && is_greatest;
  Expression index = d.reduce(
      ExpressionKind::minimum_over, window.bound,
      d.select(is_chosen, flat_index(d, shape, window.position), d.highest(DataType::i64)));
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

// ---- AveragePool and LpPool -------------------------------------------------------------------

/// Attributes of pools by the operator set that brought them; before it they must have no effect.
Result<ExportedCall> without_later_attributes(const Instance& in, int opset, ExportedCall standard,
                                              int ceil_mode_since, int dilations_since) {
  if (opset < dilations_since) {
    for (const Dimension& dilation : in.attributes.dimensions("dilations"))
      if (!dilation.is(1))
        return unsupported(fmt::format("dilations need operator set {}", dilations_since));
    standard.attributes.erase("dilations");
  }
  if (opset < ceil_mode_since) {
    if (ceil_mode(in))
      return unsupported(fmt::format("ceil_mode needs operator set {}", ceil_mode_since));
    standard.attributes.erase("ceil_mode");
  }
  return standard;
}

/// Attributes that an operator set does not know yet are left out where they have no effect.
Result<ExportedCall> export_max_pool(const Instance& in, int opset, ExportedCall standard) {
  if (in.attributes.integer("storage_order") == 0) standard.attributes.erase("storage_order");
  return without_later_attributes(in, opset, std::move(standard), 10, 10);
}

Result<ExportedCall> export_average_pool(const Instance& in, int opset, ExportedCall standard) {
  return without_later_attributes(in, opset, std::move(standard), 10, 19);
}

Result<ExportedCall> export_lp_pool(const Instance& in, int opset, ExportedCall standard) {
  return without_later_attributes(in, opset, std::move(standard), 18, 18);
}

Result<std::vector<TensorType>> infer_real_pool(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::real));
  LEMMA_ASSIGN_OR_RETURN(Shape shape, pooled_shape(in));
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}

/// How many positions of the window along one axis count: those in the input, and also those in the
/// padding if `padding_counts`, but not those beyond it that rounding up adds.
Expression window_size(DefinitionBuilder& d, const WindowAxis& axis, Expression o, bool rounds_up,
                       bool padding_counts) {
  std::vector<Expression> bound;
  const Expression k = reduction_index(d, axis.kernel, bound);
  const Expression position = window_position(d, axis, o, k);
  Expression counts = d.integer(1, DataType::boolean);
  if (padding_counts && rounds_up)
    counts = position < d.extent(axis.size + axis.pad_end);
  else if (!padding_counts)
    counts = inside(d, axis, position, rounds_up);
  const ExpressionNode& known = d.node(counts.id());
  if (known.kind == ExpressionKind::integer_constant) return d.extent(axis.kernel);
  return d.sum(bound, d.select(counts, d.integer(1), d.integer(0)));
}

Definition define_average_pool(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_real_pool));
  const Window window = window_at(d, in, axes);
  const Expression sum = d.sum(
      window.bound,
      d.select(window.guard, d.read(0, in.type(0), window.position), d.constant(0, in.type(0))));
  Expression size = d.integer(1);
  const std::vector<WindowAxis> windows = pool_axes(in);
  for (std::size_t i = 0; i < windows.size(); ++i)
    size = size * window_size(d, windows[i], axes[2 + i], ceil_mode(in),
                              in.attributes.integer("count_include_pad") != 0);
  d.output(axes, sum / d.cast(size, in.type(0)));
  return std::move(d).finish();
}

/// |x|^p, and the p-th root of a sum of them.
Expression power_of(DefinitionBuilder& d, Expression x, std::int64_t p) {
  if (p == 2) return x * x;
  const Expression magnitude = d.apply(ScalarFunction::absolute, x);
  if (p == 1) return magnitude;
  return d.binary(ExpressionKind::power, magnitude, d.real(static_cast<double>(p), x.type()));
}

Expression root_of(DefinitionBuilder& d, Expression x, std::int64_t p) {
  if (p == 1) return x;
  if (p == 2) return d.apply(ScalarFunction::sqrt, x);
  const Expression exponent = d.real(1, x.type()) / d.real(static_cast<double>(p), x.type());
  return d.binary(ExpressionKind::power, x, exponent);
}

Result<void> require_positive_p(const Instance& in) {
  if (in.attributes.integer("p") >= 1) return {};
  return bad_input(fmt::format("p is {}, not positive", in.attributes.integer("p")));
}

Result<std::vector<TensorType>> infer_lp_pool(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_positive_p(in));
  return infer_real_pool(in);
}

Definition define_lp_pool(const Instance& in) {
  DefinitionBuilder d;
  const std::int64_t p = in.attributes.integer("p");
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_lp_pool));
  const Window window = window_at(d, in, axes);
  const Expression element = d.read(0, in.type(0), window.position);
  const Expression sum = d.sum(
      window.bound, d.select(window.guard, power_of(d, element, p), d.constant(0, in.type(0))));
  d.output(axes, root_of(d, sum, p));
  return std::move(d).finish();
}

// ---- Global pools -----------------------------------------------------------------------------

Result<std::vector<TensorType>> infer_global(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::real));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 2));
  Shape shape(in.rank(0), Dimension(1));
  shape[0] = in.shape(0)[0];
  shape[1] = in.shape(0)[1];
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}

Result<std::vector<TensorType>> infer_global_lp(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_positive_p(in));
  return infer_global(in);
}

using GlobalBody = Expression (*)(DefinitionBuilder&, const Instance&,
                                  const std::vector<Expression>& bound, Expression element);

template <GlobalBody body>
Definition define_global(const Instance& in) {
  DefinitionBuilder d;
  const std::vector<Expression> axes = d.variables(output_shape(in, infer_global));
  std::vector<Expression> bound, indices = {axes[0], axes[1]};
  for (std::size_t i = 2; i < axes.size(); ++i)
    indices.push_back(reduction_index(d, in.shape(0)[i], bound));
  d.output(axes, body(d, in, bound, d.read(0, in.type(0), indices)));
  return std::move(d).finish();
}

Expression global_average(DefinitionBuilder& d, const Instance& in,
                          const std::vector<Expression>& bound, Expression element) {
  const Dimension count = element_count(part(in.shape(0), 2, in.rank(0)));
  return d.sum(bound, element) / d.cast(d.extent(count), in.type(0));
}

Expression global_maximum(DefinitionBuilder& d, const Instance&,
                          const std::vector<Expression>& bound, Expression element) {
  return d.reduce(ExpressionKind::maximum_over, bound, element);
}

Expression global_norm(DefinitionBuilder& d, const Instance& in,
                       const std::vector<Expression>& bound, Expression element) {
  const std::int64_t p = in.attributes.integer("p");
  return root_of(d, d.sum(bound, power_of(d, element, p)), p);
}

constexpr AttributeSpecification kernel_attribute = {"kernel_shape", AttributeKind::dimensions,
                                                     "required"};
constexpr AttributeSpecification strides_attribute = {"strides", AttributeKind::dimensions,
                                                      "optional"};
constexpr AttributeSpecification pads_attribute = {"pads", AttributeKind::dimensions, "optional"};
constexpr AttributeSpecification dilations_attribute = {"dilations", AttributeKind::dimensions,
                                                        "optional"};
constexpr AttributeSpecification ceil_mode_attribute = {"ceil_mode", AttributeKind::integer, "0"};
constexpr AttributeSpecification power_attribute = {"p", AttributeKind::integer, "2"};

constexpr std::array max_pool_attributes = {
    kernel_attribute,    strides_attribute,
    pads_attribute,      dilations_attribute,
    ceil_mode_attribute, AttributeSpecification{"storage_order", AttributeKind::integer, "0"}};
constexpr std::array max_pool_onnx = {OnnxMapping{
    .name = "MaxPool", .since = 1, .import_hook = import_pool, .export_hook = export_max_pool}};

constexpr std::array average_pool_attributes = {
    kernel_attribute,    strides_attribute,
    pads_attribute,      dilations_attribute,
    ceil_mode_attribute, AttributeSpecification{"count_include_pad", AttributeKind::integer, "0"}};
constexpr std::array average_pool_onnx = {OnnxMapping{.name = "AveragePool",
                                                      .since = 7,
                                                      .import_hook = import_pool,
                                                      .export_hook = export_average_pool}};

constexpr std::array lp_pool_attributes = {kernel_attribute,    strides_attribute,
                                           pads_attribute,      dilations_attribute,
                                           ceil_mode_attribute, power_attribute};
constexpr std::array lp_pool_onnx = {OnnxMapping{
    .name = "LpPool", .since = 2, .import_hook = import_pool, .export_hook = export_lp_pool}};

constexpr std::array global_lp_attributes = {power_attribute};
constexpr std::array global_average_onnx = {OnnxMapping{.name = "GlobalAveragePool", .since = 1}};
constexpr std::array global_max_onnx = {OnnxMapping{.name = "GlobalMaxPool", .since = 1}};
constexpr std::array global_lp_onnx = {OnnxMapping{.name = "GlobalLpPool", .since = 2}};

constexpr std::array pooling_records = {
    OperatorRecord{.name = "MaxPool",
                   .summary = "maximum over sliding windows, and optionally its position",
                   .inputs = {1, 1},
                   .outputs = {1, 2},
                   .attributes = max_pool_attributes,
                   .flags = spatial,
                   .infer = infer_max_pool,
                   .define = define_max_pool,
                   .normalize = normalize_pool,
                   .onnx = max_pool_onnx},
    OperatorRecord{.name = "AveragePool",
                   .summary = "mean over sliding windows, with or without the padding",
                   .inputs = {1, 1},
                   .outputs = {1, 1},
                   .attributes = average_pool_attributes,
                   .flags = linear | spatial,
                   .infer = infer_real_pool,
                   .define = define_average_pool,
                   .normalize = normalize_pool,
                   .onnx = average_pool_onnx},
    OperatorRecord{.name = "LpPool",
                   .summary = "p-norm over sliding windows",
                   .inputs = {1, 1},
                   .outputs = {1, 1},
                   .attributes = lp_pool_attributes,
                   .flags = spatial,
                   .infer = infer_lp_pool,
                   .define = define_lp_pool,
                   .normalize = normalize_pool,
                   .onnx = lp_pool_onnx},
    OperatorRecord{.name = "GlobalAveragePool",
                   .summary = "mean over all spatial axes",
                   .inputs = {1, 1},
                   .outputs = {1, 1},
                   .flags = linear | spatial,
                   .infer = infer_global,
                   .define = define_global<global_average>,
                   .onnx = global_average_onnx},
    OperatorRecord{.name = "GlobalMaxPool",
                   .summary = "maximum over all spatial axes",
                   .inputs = {1, 1},
                   .outputs = {1, 1},
                   .flags = spatial,
                   .infer = infer_global,
                   .define = define_global<global_maximum>,
                   .onnx = global_max_onnx},
    OperatorRecord{.name = "GlobalLpPool",
                   .summary = "p-norm over all spatial axes",
                   .inputs = {1, 1},
                   .outputs = {1, 1},
                   .attributes = global_lp_attributes,
                   .flags = spatial,
                   .infer = infer_global_lp,
                   .define = define_global<global_norm>,
                   .onnx = global_lp_onnx},
};
static_assert(is_complete(pooling_records));

}  // namespace

std::span<const OperatorRecord> pooling() { return pooling_records; }

}  // namespace lemma::operators
