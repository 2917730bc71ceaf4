#include <array>

#include <fmt/format.h>

#include "operators/composition.h"
#include "operators/elementwise.h"
#include "operators/families.h"

// Softmax, LogSoftmax and Hardmax along one axis, as in ONNX since operator set 13; and over an
// axis and all that follow it, as in ONNX before (where the tensor was flattened to a matrix).

namespace lemma::operators {
namespace {

constexpr std::array along_attributes = {
    AttributeSpecification{"axis", AttributeKind::integer, "-1", AttributeRole::axis},
};
constexpr std::array flattened_attributes = {
    AttributeSpecification{"axis", AttributeKind::integer, "1", AttributeRole::axis},
};

Result<std::vector<TensorType>> infer_softmax(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_type(in, 0, TypeSet::real));
  return infer_same(in);
}

Integers normalized_axes(const Instance& in, bool flattened) {
  const std::int64_t axis = in.attributes.integer("axis");
  return axes_between(axis, flattened ? static_cast<std::int64_t>(in.rank(0)) : axis + 1);
}

using Compose = Result<std::vector<ValueId>>;

/// exp(x - max x) / sum exp(x - max x): subtracting the maximum changes nothing but the range.
template <bool flattened>
Compose compose_softmax(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  const Attributes over = {{"axes", normalized_axes(in, flattened)}};
  const ValueId powers = c("Exp", {c.subtract(inputs[0], c("ReduceMax", {inputs[0]}, over))});
  return c.outputs({c.divide(powers, c("ReduceSum", {powers}, over))});
}

template <bool flattened>
Compose compose_log_softmax(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  const Attributes over = {{"axes", normalized_axes(in, flattened)}};
  const ValueId shifted = c.subtract(inputs[0], c("ReduceMax", {inputs[0]}, over));
  const ValueId total = c("ReduceSum", {c("Exp", {shifted})}, over);
  return c.outputs({c.subtract(shifted, c("Log", {total}))});
}

/// One at the first of the largest elements, zero elsewhere.
Compose compose_hardmax(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  const std::int64_t axis = in.attributes.integer("axis");
  const ValueId best = c("ArgMax", {inputs[0]}, {{"axis", axis}});
  const ValueId hit = c("Equal", {c.positions(in.shape(0), axis), best});
  return c.outputs({c.cast(hit, in.type(0))});
}

Compose compose_hardmax_flattened(Graph& graph, const Instance& in,
                                  std::span<const ValueId> inputs) {
  Composer c(graph);
  const ValueId matrix = c("Flatten", {inputs[0]}, {{"axis", in.attributes.integer("axis")}});
  const ValueId result = c("Hardmax", {matrix}, {{"axis", 1}});
  return c.outputs({c("Reshape", {result}, {{"shape", in.shape(0)}})});
}

/// Exports the form along an axis, which is right in a model of an earlier operator set only for the
/// last one.
Result<ExportedCall> export_along(const Instance& in, int opset, ExportedCall exported) {
  if (opset < 13 && in.attributes.integer("axis") + 1 != static_cast<std::int64_t>(in.rank(0)))
    return unsupported(fmt::format("operator set {} normalizes along the last axis only", opset));
  return exported;
}

/// The last axis is the same in both forms, and then the simpler one is taken.
Result<ImportedCall> import_along_last(const OnnxCall& call, ImportedCall imported) {
  const auto& shape = call.inputs[0].type.shape;
  const std::int64_t axis =
      call.attributes.has("axis") ? call.attributes.integer("axis") : std::int64_t{1};
  const bool last = axis == -1 || (shape && axis + 1 == static_cast<std::int64_t>(shape->size()));
  if (!last) return unsupported("normalization over more than the last axis");
  imported.attributes.set("axis", std::int64_t{-1});
  return imported;
}

template <StaticName name>
inline constexpr std::array along_onnx = {OnnxMapping{.name = name.view(), .since = 13},
                                          OnnxMapping{.name = name.view(),
                                                      .since = 1,
                                                      .until = 12,
                                                      .import_hook = import_along_last,
                                                      .export_hook = export_along}};

template <StaticName name>
inline constexpr std::array flattened_onnx = {
    OnnxMapping{.name = name.view(), .since = 1, .until = 12}};

template <StaticName name, ComposeFunction compose>
constexpr OperatorRecord along_record(std::string_view summary) {
  return {.name = name.view(),
          .summary = summary,
          .attributes = along_attributes,
          .infer = infer_softmax,
          .compose = compose,
          .onnx = along_onnx<name>};
}

template <StaticName name, StaticName onnx_name, ComposeFunction compose>
constexpr OperatorRecord flattened_record(std::string_view summary) {
  return {.name = name.view(),
          .summary = summary,
          .attributes = flattened_attributes,
          .infer = infer_softmax,
          .compose = compose,
          .onnx = flattened_onnx<onnx_name>};
}

constexpr std::array softmax_records = {
    along_record<"Hardmax", compose_hardmax>("1 at the first largest element along an axis, or 0"),
    flattened_record<"HardmaxFlattened", "Hardmax", compose_hardmax_flattened>(
        "1 at the first largest element from an axis on, or 0"),
    along_record<"LogSoftmax", compose_log_softmax<false>>("log of Softmax"),
    flattened_record<"LogSoftmaxFlattened", "LogSoftmax", compose_log_softmax<true>>(
        "log of SoftmaxFlattened"),
    along_record<"Softmax", compose_softmax<false>>("exp(x) divided by its sum along an axis"),
    flattened_record<"SoftmaxFlattened", "Softmax", compose_softmax<true>>(
        "exp(x) divided by its sum over an axis and all that follow"),
};
static_assert(is_complete(softmax_records));

}  // namespace

std::span<const OperatorRecord> softmax() { return softmax_records; }

}  // namespace lemma::operators
