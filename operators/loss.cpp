#include <array>

#include <fmt/format.h>

#include "operators/composition.h"
#include "operators/elementwise.h"
#include "operators/families.h"

// Losses of classification. Inputs: scores [N, C, ...], the right class of each position
// [N, ...], and optionally a weight for each class [C]. Positions of the class `ignore_index`
// count for nothing.

namespace lemma::operators {
namespace {

constexpr std::array loss_attributes = {
    AttributeSpecification{"ignore_index", AttributeKind::integer, "optional"},
    AttributeSpecification{"reduction", AttributeKind::string, "\"mean\""},
};

/// The type of the loss.
Result<TensorType> loss_type(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_type(in, 0, TypeSet::real));
  LEMMA_RETURN_IF_ERROR(require_type(in, 1, TypeSet::integer));
  LEMMA_RETURN_IF_ERROR(require_rank(in, 0, 2));
  Shape positions = in.shape(0);
  positions.erase(positions.begin() + 1);
  if (in.rank(1) != positions.size())
    return bad_input(
        fmt::format("classes {} do not fit scores {}", text(in.shape(1)), text(in.shape(0))));
  for (std::size_t i = 0; i < positions.size(); ++i)
    LEMMA_RETURN_IF_ERROR(require_same_size(in, in.shape(1)[i], positions[i], "positions"));
  if (in.has(2)) {
    LEMMA_RETURN_IF_ERROR(require_rank(in, 2, 1, 1));
    LEMMA_RETURN_IF_ERROR(require_same_size(in, in.shape(2)[0], in.shape(0)[1], "classes"));
    if (in.type(2) != in.type(0))
      return bad_input(
          fmt::format("weights are {}, but scores are {}", name(in.type(2)), name(in.type(0))));
  }
  const std::string& reduction = in.attributes.string("reduction");
  if (reduction == "none") return TensorType{in.type(0), in.shape(1)};
  if (reduction == "sum" || reduction == "mean") return TensorType{in.type(0), Shape{}};
  return bad_input(fmt::format("there is no reduction '{}'", reduction));
}

Result<std::vector<TensorType>> infer_likelihood(const Instance& in) {
  LEMMA_ASSIGN_OR_RETURN(TensorType type, loss_type(in));
  return std::vector<TensorType>{std::move(type)};
}

/// Loss and weight of one position.
struct PositionLoss {
  Expression loss, weight;
};

PositionLoss loss_at(DefinitionBuilder& d, const Instance& in,
                     const std::vector<Expression>& position) {
  const DataType type = in.type(0);
  const Expression label = d.cast(d.read(1, in.type(1), position), DataType::i64);
  std::vector<Expression> indices = position;
  indices.insert(indices.begin() + 1, label);
  const Expression score = d.read(0, type, indices);
  const Expression weight = in.has(2) ? d.read(2, type, {label}) : d.real(1, type);
  Expression loss = d.apply(ScalarFunction::negate, score);
  if (in.has(2)) loss = loss * weight;
  if (!in.attributes.has("ignore_index")) return {loss, weight};
  const Expression ignored = label == d.integer(in.attributes.integer("ignore_index"));
  const Expression zero = d.real(0, type);
  return {d.select(ignored, zero, loss), d.select(ignored, zero, weight)};
}

Definition define_likelihood(const Instance& in) {
  DefinitionBuilder d;
  const std::string& reduction = in.attributes.string("reduction");
  const std::vector<Expression> position = d.variables(in.shape(1));
  const PositionLoss at = loss_at(d, in, position);
  if (reduction == "none") {
    d.output(position, at.loss);
    return std::move(d).finish();
  }
  const Expression total = d.sum(position, at.loss);
  if (reduction == "sum") {
    d.output({}, total);
    return std::move(d).finish();
  }
  const std::vector<Expression> again = d.variables(in.shape(1));
  d.output({}, total / d.sum(again, loss_at(d, in, again).weight));
  return std::move(d).finish();
}

// ---- SoftmaxCrossEntropyLoss -------------------------------------------------------------------

Result<std::vector<TensorType>> infer_cross_entropy(const Instance& in) {
  LEMMA_ASSIGN_OR_RETURN(TensorType loss, loss_type(in));
  std::vector<TensorType> types = {std::move(loss)};
  if (in.output_count > 1) types.push_back(in.inputs[0]);
  return types;
}

Result<std::vector<ValueId>> compose_cross_entropy(Graph& graph, const Instance& in,
                                                   std::span<const ValueId> inputs) {
  Composer c(graph);
  const ValueId logarithms = c("LogSoftmax", {inputs[0]}, {{"axis", std::int64_t{1}}});
  std::vector<ValueId> operands(inputs.begin(), inputs.end());
  operands[0] = logarithms;
  std::vector<ValueId> outputs = {
      c("NegativeLogLikelihoodLoss", std::move(operands), in.attributes), logarithms};
  outputs.resize(in.output_count);
  return c.outputs(std::move(outputs));
}

constexpr std::array loss_records = {
    OperatorRecord{.name = "NegativeLogLikelihoodLoss",
                   .summary = "what is lost by the logarithms given to the right classes",
                   .inputs = {2, 3},
                   .attributes = loss_attributes,
                   .infer = infer_likelihood,
                   .define = define_likelihood,
                   .onnx = same_in_onnx<"NegativeLogLikelihoodLoss", 12>},
    OperatorRecord{.name = "SoftmaxCrossEntropyLoss",
                   .summary = "the same after LogSoftmax over the classes",
                   .inputs = {2, 3},
                   .outputs = {1, 2},
                   .attributes = loss_attributes,
                   .infer = infer_cross_entropy,
                   .compose = compose_cross_entropy,
                   .onnx = same_in_onnx<"SoftmaxCrossEntropyLoss", 12>},
};
static_assert(is_complete(loss_records));

}  // namespace

std::span<const OperatorRecord> loss() { return loss_records; }

}  // namespace lemma::operators
