#include <array>

#include <fmt/format.h>

#include "operators/composition.h"
#include "operators/elementwise.h"
#include "operators/families.h"

namespace lemma::operators {
namespace {

// ---- Reductions over `axes` -------------------------------------------------------------------
//
// In Lemma axes are explicit: absent axes are filled in as all axes, and an empty list reduces
// nothing. ONNX also lets an empty list mean all axes, unless noop_with_empty_axes is set.

constexpr std::array reduction_attributes = {
    AttributeSpecification{"axes", AttributeKind::integers, "optional", AttributeRole::axes},
    AttributeSpecification{"keepdims", AttributeKind::integer, "1"},
};

Result<Attributes> normalize_reduction(const Instance& in) {
  Attributes attributes = in.attributes;
  if (!attributes.has("axes")) {
    Integers axes(in.rank(0));
    for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
    attributes.set("axes", std::move(axes));
  }
  return attributes;
}

template <TypeSet types>
Result<std::vector<TensorType>> infer_reduction(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_type(in, 0, types));
  const Integers& axes = in.attributes.integers("axes");
  const bool keep = in.attributes.integer("keepdims") != 0;
  Shape shape;
  for (std::size_t i = 0; i < in.rank(0); ++i) {
    if (!contains(axes, static_cast<std::int64_t>(i)))
      shape.push_back(in.shape(0)[i]);
    else if (keep)
      shape.emplace_back(1);
  }
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}

/// What a reduction works on: the output's axes, the variables it ranges over, and the element.
struct ReductionParts {
  std::vector<Expression> axes, bound;
  Expression element;
  Dimension count = 1;  // of elements reduced into one
};

ReductionParts reduction_parts(DefinitionBuilder& d, const Instance& in) {
  const Integers& reduced = in.attributes.integers("axes");
  const bool keep = in.attributes.integer("keepdims") != 0;
  ReductionParts parts;
  std::vector<Expression> indices;
  for (std::size_t i = 0; i < in.rank(0); ++i) {
    const Dimension& extent = in.shape(0)[i];
    if (!contains(reduced, static_cast<std::int64_t>(i))) {
      parts.axes.push_back(d.variable(extent));
      indices.push_back(parts.axes.back());
    } else {
      if (keep) parts.axes.push_back(d.variable(1));
      parts.bound.push_back(d.variable(extent));
      indices.push_back(parts.bound.back());
      parts.count = parts.count * extent;
    }
  }
  parts.element = d.read(0, in.type(0), std::move(indices));
  return parts;
}

using ReductionBody = Expression (*)(DefinitionBuilder&, const ReductionParts&);

template <ReductionBody body>
Definition define_reduction(const Instance& in) {
  DefinitionBuilder d;
  const ReductionParts parts = reduction_parts(d, in);
  d.output(parts.axes, body(d, parts));
  return std::move(d).finish();
}

template <ExpressionKind kind>
Expression reduce_by(DefinitionBuilder& d, const ReductionParts& parts) {
  return d.reduce(kind, parts.bound, parts.element);
}

/// The standard allows integers everywhere; where a root or a logarithm is taken, the record does not.
template <TypeSet types>
Result<ImportedCall> import_reduction(const OnnxCall& call, ImportedCall imported) {
  if (types == TypeSet::real && !call.inputs.empty() && call.inputs.front().present() &&
      !is_real(call.inputs.front().type.data_type))
    return unsupported(fmt::format("a reduction of {} whose result is rounded",
                                   name(call.inputs.front().type.data_type)));
  for (const auto& [name, value] : call.attributes)
    if (name != "axes" && name != "keepdims" && name != "noop_with_empty_axes")
      return unsupported(fmt::format("attribute '{}' is not supported", name));
  const AttributeValue* axes = imported.attributes.find("axes");
  const bool none = axes == nullptr || std::get<Integers>(*axes).empty();
  const bool noop = call.attributes.has("noop_with_empty_axes") &&
                    call.attributes.integer("noop_with_empty_axes") != 0;
  if (none && noop) imported.attributes.set("axes", Integers{});
  if (none && !noop) imported.attributes.erase("axes");
  return imported;
}

/// `since` is the first operator set in which axes are an input and empty axes may reduce nothing.
template <int since>
Result<ExportedCall> export_reduction(const Instance& in, int opset, ExportedCall exported) {
  if (!in.attributes.integers("axes").empty()) return exported;
  if (in.rank(0) == 0) {  // nothing is all
    exported.attributes.erase("axes");
    exported.inputs.resize(1);
    return exported;
  }
  if (opset < since) return unsupported("a reduction over no axis needs a newer operator set");
  exported.inputs.resize(1);
  exported.attributes.set("noop_with_empty_axes", std::int64_t{1});
  return exported;
}

template <int since>
inline constexpr std::array reduction_parameters = {OnnxParameter{"axes", 1, since}};

template <StaticName name, int since, TypeSet types>
inline constexpr std::array reduction_onnx = {OnnxMapping{.name = name.view(),
                                                          .since = 1,
                                                          .parameters = reduction_parameters<since>,
                                                          .import_hook = import_reduction<types>,
                                                          .export_hook = export_reduction<since>}};

template <StaticName name, TypeSet types, ReductionBody body, int axes_input_since = 18>
constexpr OperatorRecord reduction_record(std::string_view summary,
                                          std::uint32_t flags = no_flags) {
  return {.name = name.view(),
          .summary = summary,
          .attributes = reduction_attributes,
          .flags = flags,
          .infer = infer_reduction<types>,
          .define = define_reduction<body>,
          .normalize = normalize_reduction,
          .onnx = reduction_onnx<name, axes_input_since, types>};
}

// ---- Their elements ----------------------------------------------------------------------------

Expression mean(DefinitionBuilder& d, const ReductionParts& parts) {
  return d.sum(parts.bound, parts.element) / d.cast(d.extent(parts.count), parts.element.type());
}

Expression sum_of_squares(DefinitionBuilder& d, const ReductionParts& parts) {
  return d.sum(parts.bound, parts.element * parts.element);
}

Expression sum_of_sizes(DefinitionBuilder& d, const ReductionParts& parts) {
  const Expression x = parts.element;
  const Expression size = is_real(x.type()) ? d.apply(ScalarFunction::absolute, x)
                                            : maximum(x, d.integer(0, x.type()) - x);
  return d.sum(parts.bound, is_unsigned_integer(x.type()) ? x : size);
}

Expression euclidean_norm(DefinitionBuilder& d, const ReductionParts& parts) {
  return d.apply(ScalarFunction::sqrt, sum_of_squares(d, parts));
}

Expression log_of_sum(DefinitionBuilder& d, const ReductionParts& parts) {
  return d.apply(ScalarFunction::log, d.sum(parts.bound, parts.element));
}

// ---- ReduceLogSumExp ---------------------------------------------------------------------------

/// m + log(sum(exp(x - m))) for the maximum m, which changes nothing but the range; where m is
/// infinite the difference would not be a number, so 0 takes its place.
Result<std::vector<ValueId>> compose_log_sum_exp(Graph& graph, const Instance& in,
                                                 std::span<const ValueId> inputs) {
  Composer c(graph);
  const Attributes over = {{"axes", in.attributes.integers("axes")}};
  const ValueId x = inputs[0], largest = c("ReduceMax", {x}, over);
  const ValueId offset = c("Where", {c("IsInf", {largest}), c.scalar(0, in.type(0)), largest});
  const ValueId powers = c("Exp", {c.subtract(x, offset)});
  const ValueId result = c.add(c("Log", {c("ReduceSum", {powers}, over)}), offset);
  const bool keep = in.attributes.integer("keepdims") != 0;
  return c.outputs({keep ? result : c("Squeeze", {result}, over)});
}

constexpr OperatorRecord log_sum_exp_record() {
  OperatorRecord result =
      reduction_record<"ReduceLogSumExp", TypeSet::real, log_of_sum>("log of the sum of exp(x)");
  result.define = nullptr;
  result.compose = compose_log_sum_exp;
  return result;
}

// ---- ArgMax and ArgMin -------------------------------------------------------------------------

constexpr std::array arg_attributes = {
    AttributeSpecification{"axis", AttributeKind::integer, "0", AttributeRole::axis},
    AttributeSpecification{"keepdims", AttributeKind::integer, "1"},
    AttributeSpecification{"select_last_index", AttributeKind::integer, "0"},
};

Result<std::vector<TensorType>> infer_arg(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_type(in, 0, TypeSet::numeric));
  const auto axis = static_cast<std::size_t>(in.attributes.integer("axis"));
  Shape shape = in.shape(0);
  if (!in.is_at_most(1, shape[axis]))
    return bad_input(fmt::format("axis {} of {} has no elements", axis, text(shape)));
  if (in.attributes.integer("keepdims") != 0)
    shape[axis] = 1;
  else
    shape.erase(shape.begin() + static_cast<long>(axis));
  return std::vector<TensorType>{{DataType::i64, std::move(shape)}};
}

/// The first (or last) of the positions at which the extreme value stands, or NaN if there is one.
template <StaticName extreme>
Result<std::vector<ValueId>> compose_arg(Graph& graph, const Instance& in,
                                         std::span<const ValueId> inputs) {
  Composer c(graph);
  const ValueId x = inputs[0];
  const std::int64_t axis = in.attributes.integer("axis");
  const bool last = in.attributes.integer("select_last_index") != 0;
  const std::vector<std::int64_t> nowhere = {last ? -1 : INT64_MAX};
  ValueId is_extreme = c("Equal", {x, c(extreme.view(), {x}, {{"axes", Integers{axis}}})});
  if (is_real(in.type(0))) is_extreme = c("Or", {is_extreme, c("IsNaN", {x})});
  const ValueId at = c("Where", {is_extreme, c.positions(in.shape(0), axis),
                                 c.constant(Constant::of(DataType::i64, {}, nowhere))});
  const std::int64_t keep = in.attributes.integer("keepdims");
  return c.outputs(
      {c(last ? "ReduceMax" : "ReduceMin", {at}, {{"axes", Integers{axis}}, {"keepdims", keep}})});
}

Result<ExportedCall> export_arg(const Instance& in, int opset, ExportedCall exported) {
  if (opset >= 12) return exported;
  if (in.attributes.integer("select_last_index") != 0)
    return unsupported(fmt::format("operator set {} has no select_last_index", opset));
  exported.attributes.erase("select_last_index");
  return exported;
}

template <StaticName name>
inline constexpr std::array arg_onnx = {
    OnnxMapping{.name = name.view(), .since = 1, .export_hook = export_arg}};

template <StaticName name, StaticName extreme>
constexpr OperatorRecord arg_record(std::string_view summary) {
  return {.name = name.view(),
          .summary = summary,
          .attributes = arg_attributes,
          .infer = infer_arg,
          .compose = compose_arg<extreme>,
          .onnx = arg_onnx<name>};
}

// ---- CumSum and CumProd ------------------------------------------------------------------------------------

constexpr std::array cumulative_attributes = {
    AttributeSpecification{"axis", AttributeKind::integer, "required", AttributeRole::axis},
    AttributeSpecification{"exclusive", AttributeKind::integer, "0"},
    AttributeSpecification{"reverse", AttributeKind::integer, "0"},
};

Result<std::vector<TensorType>> infer_cumulative(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_type(in, 0, TypeSet::numeric));
  return infer_same(in);
}

template <ExpressionKind kind, int neutral>
Definition define_cumulative(const Instance& in) {
  DefinitionBuilder d;
  const auto axis = static_cast<std::size_t>(in.attributes.integer("axis"));
  const std::vector<Expression> axes = d.variables(in.shape(0));
  const Expression here = axes[axis], other = d.variable(in.shape(0)[axis]);
  const bool reverse = in.attributes.integer("reverse") != 0;
  const Expression earlier = reverse ? here : other, later = reverse ? other : here;
  const bool exclusive = in.attributes.integer("exclusive") != 0;
  std::vector<Expression> indices = axes;
  indices[axis] = other;
  const Expression element = d.read(0, in.type(0), std::move(indices));
  const Expression counted = exclusive ? earlier < later : earlier <= later;
  const Expression term = d.select(counted, element, d.constant(neutral, in.type(0)));
  d.output(axes, d.reduce(kind, {other}, term));
  return std::move(d).finish();
}

constexpr std::array cumulative_parameters = {OnnxParameter{"axis", 1, 1}};
constexpr std::array cum_sum_onnx = {
    OnnxMapping{.name = "CumSum", .since = 11, .parameters = cumulative_parameters}};
constexpr std::array cum_prod_onnx = {
    OnnxMapping{.name = "CumProd", .since = 26, .parameters = cumulative_parameters}};

constexpr std::array reduction_records = {
    arg_record<"ArgMax", "ReduceMax">("position of the largest element along an axis"),
    arg_record<"ArgMin", "ReduceMin">("position of the smallest element along an axis"),
    OperatorRecord{.name = "CumProd",
                   .summary = "product of the elements up to each one along an axis",
                   .attributes = cumulative_attributes,
                   .infer = infer_cumulative,
                   .define = define_cumulative<ExpressionKind::product, 1>,
                   .onnx = cum_prod_onnx},
    OperatorRecord{.name = "CumSum",
                   .summary = "sum of the elements up to each one along an axis",
                   .attributes = cumulative_attributes,
                   .flags = linear,
                   .infer = infer_cumulative,
                   .define = define_cumulative<ExpressionKind::sum, 0>,
                   .onnx = cum_sum_onnx},
    reduction_record<"ReduceL1", TypeSet::numeric, sum_of_sizes>("sum of |x| over axes"),
    reduction_record<"ReduceL2", TypeSet::real, euclidean_norm>(
        "square root of the sum of x * x over axes"),
    reduction_record<"ReduceLogSum", TypeSet::real, log_of_sum>("log of the sum over axes"),
    log_sum_exp_record(),
    reduction_record<"ReduceMax", TypeSet::wide, reduce_by<ExpressionKind::maximum_over>>(
        "maximum over axes"),
    reduction_record<"ReduceMean", TypeSet::numeric, mean>("mean over axes", linear),
    reduction_record<"ReduceMin", TypeSet::wide, reduce_by<ExpressionKind::minimum_over>>(
        "minimum over axes"),
    reduction_record<"ReduceProd", TypeSet::numeric, reduce_by<ExpressionKind::product>>(
        "product over axes"),
    reduction_record<"ReduceSum", TypeSet::numeric, reduce_by<ExpressionKind::sum>, 13>(
        "sum over axes", linear),
    reduction_record<"ReduceSumSquare", TypeSet::numeric, sum_of_squares>("sum of x * x over axes"),
};
static_assert(is_complete(reduction_records));

}  // namespace

std::span<const OperatorRecord> reduction() { return reduction_records; }

}  // namespace lemma::operators
