#include <array>

#include "ir/operators/elementwise.h"
#include "ir/operators/families.h"

namespace lemma::operators {
namespace {

// ---- Softmax ----------------------------------------------------------------------------------

constexpr std::array softmax_attributes = {
    AttributeSpecification{"axis", AttributeKind::integer, "-1", AttributeRole::axis},
};

Result<std::vector<TensorType>> infer_softmax(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_type(in, 0, TypeSet::real));
  return infer_same(in);
}

/// exp(x - max x) / sum exp(x - max x): subtracting the maximum changes nothing but the range.
Result<std::vector<ValueId>> compose_softmax_over(Graph& graph, ValueId x, const Integers& axes) {
  LEMMA_ASSIGN_OR_RETURN(const ValueId largest, graph.add("ReduceMax", {x}, {{"axes", axes}}));
  LEMMA_ASSIGN_OR_RETURN(const ValueId shifted, graph.add("Sub", {x, largest}));
  LEMMA_ASSIGN_OR_RETURN(const ValueId powers, graph.add("Exp", {shifted}));
  LEMMA_ASSIGN_OR_RETURN(const ValueId total, graph.add("ReduceSum", {powers}, {{"axes", axes}}));
  LEMMA_ASSIGN_OR_RETURN(const ValueId result, graph.add("Div", {powers, total}));
  return std::vector<ValueId>{result};
}

Result<std::vector<ValueId>> compose_softmax(Graph& graph, const Instance& in,
                                             std::span<const ValueId> inputs) {
  return compose_softmax_over(graph, inputs[0], {in.attributes.integer("axis")});
}

constexpr std::array softmax_onnx = {OnnxMapping{.name = "Softmax", .since = 13}};

constexpr std::array records = {
    OperatorRecord{.name = "Softmax",
                   .summary = "exp(x) divided by its sum along an axis",
                   .attributes = softmax_attributes,
                   .infer = infer_softmax,
                   .compose = compose_softmax,
                   .onnx = softmax_onnx},
};
static_assert(is_complete(records));

}  // namespace

std::span<const OperatorRecord> normalization() { return records; }

}  // namespace lemma::operators
