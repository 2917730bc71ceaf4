#include <array>

#include "ir/operators/elementwise.h"
#include "ir/operators/families.h"

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

Result<ImportedCall> import_reduction(const OnnxCall& call, ImportedCall imported) {
  for (const auto& [name, value] : call.attributes)
    if (name != "axes" && name != "keepdims" && name != "noop_with_empty_axes")
      return unsupported("attribute '" + name + "' is not supported");
  const AttributeValue* axes = imported.attributes.find("axes");
  const bool none = axes == nullptr || std::get<Integers>(*axes).empty();
  const bool noop =
      call.attributes.has("noop_with_empty_axes") && call.attributes.integer("noop_with_empty_axes") != 0;
  if (none && noop) imported.attributes.set("axes", Integers{});
  if (none && !noop) imported.attributes.erase("axes");
  return imported;
}

/// `Since` is the first operator set in which axes are an input and empty axes may reduce nothing.
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

template <StaticName name, int since>
inline constexpr std::array reduction_onnx = {
    OnnxMapping{.name = name.view(),
                .since = 1,
                .parameters = reduction_parameters<since>,
                .import_hook = import_reduction,
                .export_hook = export_reduction<since>}};

template <StaticName name, TypeSet types, ReductionBody body, int axes_input_since = 18>
constexpr OperatorRecord reduction_record(std::string_view summary, std::uint32_t flags = no_flags) {
  return {.name = name.view(),
          .summary = summary,
          .attributes = reduction_attributes,
          .flags = flags,
          .infer = infer_reduction<types>,
          .define = define_reduction<body>,
          .normalize = normalize_reduction,
          .onnx = reduction_onnx<name, axes_input_since>};
}

constexpr std::array records = {
    reduction_record<"ReduceMax", TypeSet::any, reduce_by<ExpressionKind::maximum_over>>(
        "maximum over axes"),
    reduction_record<"ReduceSum", TypeSet::numeric, reduce_by<ExpressionKind::sum>, 13>(
        "sum over axes", linear),
};
static_assert(is_complete(records));

}  // namespace

std::span<const OperatorRecord> reduction() { return records; }

}  // namespace lemma::operators
