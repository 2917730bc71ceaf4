#include <array>

#include <fmt/format.h>

#include "operators/composition.h"
#include "operators/families.h"
#include "operators/helpers.h"

// A convolution along time that reads no later position, each channel by itself, and the positions that it will have to
// remember.

namespace lemma::operators {
namespace {

using Compose = Result<std::vector<ValueId>>;
using Types = Result<std::vector<TensorType>>;

// Operands: x [batch, channels, length], kernels [channels, 1, size], bias [channels], positions from before
// [batch, channels, size - 1].
constexpr std::size_t state_operand = 3;

constexpr std::array causal_activations = {std::string_view("none"), std::string_view("silu"),
                                           std::string_view("swish")};
constexpr std::array causal_attributes = {
    AttributeSpecification{"activation", AttributeKind::string, "\"none\"", AttributeRole::plain,
                           causal_activations},
};

Shape state_shape(const Instance& in) {
  return {in.shape(0)[0], in.shape(0)[1], in.shape(1)[2] - Dimension(1)};
}

Types infer_causal(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::real));
  for (const std::size_t i : {0, 1}) LEMMA_RETURN_IF_ERROR(require_rank(in, i, 3, 3));
  LEMMA_RETURN_IF_ERROR(
      require_same_size(in, in.shape(1)[0], in.shape(0)[1], "numbers of kernels and channels"));
  LEMMA_RETURN_IF_ERROR(
      require_same_size(in, in.shape(1)[1], Dimension(1), "channels of a kernel"));
  if (lower_bound(in.shape(1)[2]).value_or(0) < 1)
    return unsupported("a kernel whose size may be 0");
  if (in.has(2)) {
    LEMMA_RETURN_IF_ERROR(require_rank(in, 2, 1, 1));
    LEMMA_RETURN_IF_ERROR(
        require_same_size(in, in.shape(2)[0], in.shape(0)[1], "numbers of biases and channels"));
  }
  const Shape state = state_shape(in);
  if (in.has(state_operand)) {
    LEMMA_RETURN_IF_ERROR(require_rank(in, state_operand, 3, 3));
    for (const std::size_t axis : {0, 1, 2})
      LEMMA_RETURN_IF_ERROR(
          require_same_size(in, in.shape(state_operand)[axis], state[axis], "sizes of the state"));
  }
  std::vector<TensorType> types = {in.inputs[0], {in.type(0), state}};
  types.resize(in.output_count);
  return types;
}

Compose compose_causal(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  const DataType type = in.type(0);
  const Shape state = state_shape(in);
  ValueId longer = inputs[0];
  if (in.has(state_operand)) {
    longer = c("Concat", {inputs[state_operand], longer}, {{"axis", std::int64_t{2}}});
  } else {
    const Dimension none = 0;
    longer = c("Pad", {longer}, {{"pads", Shape{none, none, state[2], none, none, none}}});
  }
  std::vector<ValueId> operands = {longer, inputs[1]};
  if (in.has(2)) operands.push_back(inputs[2]);
  ValueId result = c("Conv", operands, {{"group", in.shape(0)[1]}});
  if (in.attributes.string("activation") != "none") {
    // In no less than f32.
    const DataType computed = type == DataType::f64 ? type : DataType::f32;
    result = c.cast(c("Swish", {c.cast(result, computed)}), type);
  }
  const Dimension length = in.shape(0)[2];
  const ValueId kept =
      c("Slice", {longer},
        {{"starts", Shape{length}}, {"ends", Shape{length + state[2]}}, {"axes", Integers{2}}});
  std::vector<ValueId> outputs = {result, kept};
  outputs.resize(in.output_count);
  return c.outputs(std::move(outputs));
}

constexpr std::array causal_examples = {
    OperatorExample{"f32[N, 4, L]; f32[4, 1, 3]"},
    OperatorExample{"f32[N, 4, L]; f32[4, 1, 3]; f32[4]; f32[N, 4, 2]", "activation=\"silu\"", 2},
};
constexpr std::array causal_onnx = {OnnxMapping{.name = "CausalConvWithState", .since = 27}};

constexpr std::array causal_records = {
    OperatorRecord{.name = "CausalConvWithState",
                   .summary = "a convolution of each channel that reads no later position, and the "
                              "last positions, for the next call",
                   .inputs = {2, 4},
                   .outputs = {1, 2},
                   .attributes = causal_attributes,
                   .infer = infer_causal,
                   .compose = compose_causal,
                   .onnx = causal_onnx,
                   .examples = causal_examples},
};
static_assert(is_complete(causal_records));

}  // namespace

std::span<const OperatorRecord> causal_convolution() { return causal_records; }

}  // namespace lemma::operators
