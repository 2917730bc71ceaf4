#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "operators/composition.h"
#include "operators/families.h"
#include "operators/helpers.h"
#include "operators/sizes.h"

// Operators that go along a sequence: the state after t + 1 steps is a function of the state after t steps and of
// element t of the sequence. That function is stated once. Of a known number of steps it is applied one after the
// other; a recurrence over n + 1 steps, for whatever n, is one over the first n and one step more.

namespace lemma::operators {
namespace {

using Compose = Result<std::vector<ValueId>>;
using Types = Result<std::vector<TensorType>>;

enum Operand : std::size_t { sequence, input_weight, hidden_weight, bias, hidden, cell };

/// Inputs: the sequence [steps, batch, inputs], the weights of the gates [1, 4 * hidden, inputs] and
/// [1, 4 * hidden, hidden], their biases for both [1, 8 * hidden], and the state before, [1, batch, hidden] each.
/// Outputs: the hidden state after each step [steps, 1, batch, hidden], and both states after the last one.
Types infer_lstm(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::real));
  constexpr std::array<std::size_t, 6> ranks = {3, 3, 3, 2, 3, 3};
  for (std::size_t i = 0; i < ranks.size(); ++i)
    LEMMA_RETURN_IF_ERROR(require_rank(in, i, ranks[i], ranks[i]));
  const Dimension steps = in.shape(sequence)[0], batch = in.shape(sequence)[1],
                  inputs = in.shape(sequence)[2], size = in.shape(hidden_weight)[2];
  const Dimension gates = Dimension(4) * size, biases = Dimension(8) * size;
  const std::array<Shape, 6> shapes = {
      Shape{steps, batch, inputs}, {1, gates, inputs}, {1, gates, size}, {1, biases},
      Shape{1, batch, size},       {1, batch, size}};
  for (std::size_t i = 0; i < shapes.size(); ++i)
    for (std::size_t axis = 0; axis < shapes[i].size(); ++axis)
      LEMMA_RETURN_IF_ERROR(
          require_same_size(in, in.shape(i)[axis], shapes[i][axis],
                            fmt::format("sizes of axis {} of input {}", axis, i)));
  const DataType type = in.type(sequence);
  const TensorType state = {type, Shape{1, batch, size}};
  return std::vector<TensorType>{{type, Shape{steps, 1, batch, size}}, state, state};
}

/// The weights as matrices from the right, and the state as matrices [batch, hidden].
struct Weights {
  ValueId input, hidden, bias;
};
struct State {
  ValueId hidden, cell;
};

ValueId squeezed(Composer& c, ValueId value) {
  return c("Squeeze", {value}, {{"axes", Integers{0}}});
}

ValueId part_of(Composer& c, ValueId value, std::int64_t axis, const Dimension& begin,
                const Dimension& end) {
  return c("Slice", {value},
           {{"starts", Shape{begin}}, {"ends", Shape{end}}, {"axes", Integers{axis}}});
}

/// All steps but the last one, and from the state after them the last one.
Compose one_more_step(Composer& c, Graph& graph, OperatorId op, const Instance& in,
                      std::span<const ValueId> inputs, const std::vector<std::size_t>& state) {
  const Dimension before = in.shape(sequence)[0] - 1;
  std::vector<ValueId> operands(inputs.begin(), inputs.end());
  operands[sequence] = part_of(c, inputs[sequence], 0, 0, before);
  const std::size_t outputs = 1 + state.size();
  LEMMA_ASSIGN_OR_RETURN(const NodeId first,
                         graph.add_operation(op, operands, in.attributes, outputs));
  operands[sequence] = part_of(c, inputs[sequence], 0, before, before + 1);
  for (std::uint32_t k = 0; k < state.size(); ++k)
    operands[state[k]] = graph.node(first).output(k + 1);
  LEMMA_ASSIGN_OR_RETURN(const NodeId last,
                         graph.add_operation(op, operands, in.attributes, outputs));
  // What the last step adds to the results is the state after it.
  const ValueId added = c("Unsqueeze", {graph.node(last).output(1)}, {{"axes", Integers{0}}});
  std::vector<ValueId> result = {
      c("Concat", {graph.node(first).output(), added}, {{"axis", INT64_C(0)}})};
  for (std::uint32_t k = 0; k < state.size(); ++k) result.push_back(graph.node(last).output(k + 1));
  return c.outputs(std::move(result));
}

Weights weights_of(Composer& c, const Instance& in, std::span<const ValueId> inputs) {
  const auto matrix = [&](std::size_t operand) {
    return c("Transpose", {squeezed(c, inputs[operand])}, {{"perm", Integers{1, 0}}});
  };
  const Dimension gates = in.shape(hidden_weight)[1];
  const ValueId both = squeezed(c, inputs[bias]);
  return {matrix(input_weight), matrix(hidden_weight),
          c.add(part_of(c, both, 0, 0, gates), part_of(c, both, 0, gates, gates + gates))};
}

/// One step of a long short-term memory (Hochreiter and Schmidhuber, 1997, with forget gates).
State lstm_step(Composer& c, const Weights& weights, const Dimension& size, ValueId x,
                const State& state) {
  const ValueId products =
      c.add(c("MatMul", {x, weights.input}), c("MatMul", {state.hidden, weights.hidden}));
  const ValueId sum = c.add(products, weights.bias);
  const auto gate = [&](std::string_view function, std::int64_t number) {
    const Dimension begin = Dimension(number) * size;
    return c(function, {part_of(c, sum, 1, begin, begin + size)});
  };
  const ValueId input = gate("Sigmoid", 0), output = gate("Sigmoid", 1),
                forget = gate("Sigmoid", 2), candidate = gate("Tanh", 3);
  const ValueId cell = c.add(c.multiply(forget, state.cell), c.multiply(input, candidate));
  return {c.multiply(output, c("Tanh", {cell})), cell};
}

Compose compose_lstm(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  const Dimension steps = in.shape(sequence)[0], size = in.shape(hidden_weight)[2];
  if (!unfolds(in)) return unsupported(fmt::format("a recurrence over {} steps", steps.text()));
  Composer c(graph);
  if (!steps.is_constant())
    return one_more_step(c, graph, operator_named("LSTM"), in, inputs, {hidden, cell});
  std::vector<ValueId> states;  // hidden ones, after steps
  State state = {squeezed(c, inputs[hidden]), squeezed(c, inputs[cell])};
  const Weights weights = weights_of(c, in, inputs);
  for (std::int64_t t = 0; t < steps.offset(); ++t) {
    const ValueId x = squeezed(c, part_of(c, inputs[sequence], 0, t, t + 1));
    state = lstm_step(c, weights, size, x, state);
    states.push_back(c("Unsqueeze", {state.hidden}, {{"axes", Integers{0, 1}}}));
  }
  const auto last = [&c](ValueId value) {
    return c("Unsqueeze", {value}, {{"axes", Integers{0}}});
  };
  const Attributes nothing = {{"data_type", in.type(sequence)},
                              {"shape", Shape{0, 1, in.shape(sequence)[1], size}},
                              {"value", 0.0}};
  const ValueId all = states.empty() ? c("ConstantOfShape", {}, nothing)
                                     : c("Concat", states, {{"axis", INT64_C(0)}});
  return c.outputs({all, last(state.hidden), last(state.cell)});
}

// In files the lengths of the sequences stand before the state, and weights of peepholes after it.
constexpr std::array lstm_inputs = {0, 1, 2, 3, 5, 6};
constexpr std::size_t lengths_input = 4;

Result<ImportedCall> import_lstm(const OnnxCall& call, ImportedCall imported) {
  LEMMA_RETURN_IF_ERROR(
      only_attributes(call, {"hidden_size", "direction", "layout", "input_forget"}));
  if (string_or(call, "direction", "forward") != "forward") return unsupported("another direction");
  if (integer_or(call, "layout", 0) != 0) return unsupported("another layout");
  if (integer_or(call, "input_forget", 0) != 0) return unsupported("gates that are coupled");
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const bool taken = std::count(lstm_inputs.begin(), lstm_inputs.end(), static_cast<int>(i)) != 0;
    if (!taken && call.inputs[i].present())
      return unsupported(i == lengths_input ? "lengths of sequences" : "peepholes");
  }
  for (const int i : lstm_inputs)
    if (call.inputs.size() <= static_cast<std::size_t>(i) ||
        !call.inputs[static_cast<std::size_t>(i)].present())
      return unsupported("a bias or an initial state that is absent");
  const auto& shape = call.inputs[sequence].type.shape;
  if (!shape || shape->empty() || !shape->front().is_constant())
    return unsupported("a number of steps that is not known before run time");
  constexpr std::int64_t most_steps = 1024;  // each is written out where the operator is evaluated
  if (shape->front().offset() > most_steps) return unsupported("so many steps");
  imported.inputs.assign(lstm_inputs.begin(), lstm_inputs.end());
  imported.outputs = {0, 1, 2};  // whether or not the file names them
  imported.attributes = {};
  return imported;
}

Result<ExportedCall> export_lstm(const Instance& in, int, ExportedCall exported) {
  const Dimension& size = in.shape(hidden_weight)[2];
  if (!size.is_constant()) return unsupported("a size of the state that is not known");
  exported.attributes.set("hidden_size", size.offset());
  exported.inputs.insert(exported.inputs.begin() + lengths_input, OnnxAbsent{});
  return exported;
}

constexpr std::array lstm_onnx = {OnnxMapping{
    .name = "LSTM", .since = 7, .import_hook = import_lstm, .export_hook = export_lstm}};

constexpr std::array recurrence_records = {
    OperatorRecord{.name = "LSTM",
                   .summary = "a long short-term memory along axis 0, forward, with gates in the "
                              "order input, output, forget, candidate",
                   .inputs = {6, 6},
                   .outputs = {3, 3},
                   .flags = recurrent,
                   .infer = infer_lstm,
                   .compose = compose_lstm,
                   .onnx = lstm_onnx},
};
static_assert(is_complete(recurrence_records));

}  // namespace

std::span<const OperatorRecord> recurrence() { return recurrence_records; }

}  // namespace lemma::operators
