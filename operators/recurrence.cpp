#include "operators/recurrence.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "operators/composition.h"
#include "operators/families.h"
#include "operators/helpers.h"

// Recurrences: the state after t + 1 steps is a function of the state after t steps and of element t of the sequence.
// That function is stated once. Of a known number of steps it is applied one after the other; a recurrence over n + 1
// steps, for whatever n, is one over the first n and one step more.

namespace lemma::operators {

Result<std::vector<TensorType>> infer_recurrence(const Instance& in, const RecurrenceKind& kind,
                                                 std::int64_t directions, bool batch_first) {
  using namespace recurrence_operand;
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::real));
  constexpr std::array<std::size_t, 6> ranks = {3, 3, 3, 2, 3, 3};
  for (std::size_t i = 0; i < in.inputs.size(); ++i)
    if (in.has(i)) LEMMA_RETURN_IF_ERROR(require_rank(in, i, ranks[i], ranks[i]));
  const Dimension steps = in.shape(sequence)[batch_first ? 1 : 0],
                  batch = in.shape(sequence)[batch_first ? 0 : 1], inputs = in.shape(sequence)[2],
                  size = in.shape(hidden_weight)[2];
  const Dimension gates = Dimension(kind.gates) * size, biases = Dimension(2 * kind.gates) * size;
  const Shape state = batch_first ? Shape{batch, directions, size} : Shape{directions, batch, size};
  const std::array<Shape, 6> shapes = {in.shape(sequence),
                                       {directions, gates, inputs},
                                       {directions, gates, size},
                                       {directions, biases},
                                       state,
                                       state};
  for (std::size_t i = 0; i < in.inputs.size(); ++i)
    for (std::size_t axis = 0; in.has(i) && axis < shapes[i].size(); ++axis)
      LEMMA_RETURN_IF_ERROR(
          require_same_size(in, in.shape(i)[axis], shapes[i][axis],
                            fmt::format("sizes of axis {} of input {}", axis, i)));
  const DataType type = in.type(sequence);
  std::vector<TensorType> types(1 + kind.states, {type, state});
  types[0].shape =
      batch_first ? Shape{batch, steps, directions, size} : Shape{steps, directions, batch, size};
  return types;
}

namespace {

using namespace recurrence_operand;
using Compose = Result<std::vector<ValueId>>;
using Types = Result<std::vector<TensorType>>;

/// The weights as matrices from the right.
struct Weights {
  ValueId input, hidden;
  ValueId bias;  // of both products together, or
  ValueId input_bias, hidden_bias;
};
/// Matrices [batch, hidden]: the hidden state, and the cell if there is one.
using State = std::vector<ValueId>;

ValueId squeezed(Composer& c, ValueId value) {
  return c("Squeeze", {value}, {{"axes", Integers{0}}});
}

ValueId part_of(Composer& c, ValueId value, std::int64_t axis, const Dimension& begin,
                const Dimension& end) {
  return c("Slice", {value},
           {{"starts", Shape{begin}}, {"ends", Shape{end}}, {"axes", Integers{axis}}});
}

/// A gate of those that stand one after the other along the last axis.
ValueId gate_of(Composer& c, ValueId gates, std::int64_t axis, std::int64_t number,
                const Dimension& size) {
  const Dimension begin = Dimension(number) * size;
  return part_of(c, gates, axis, begin, begin + size);
}

Weights weights_of(Composer& c, const RecurrenceKind& kind, const Instance& in,
                   std::span<const ValueId> inputs) {
  const auto matrix = [&](std::size_t operand) {
    return c("Transpose", {squeezed(c, inputs[operand])}, {{"perm", Integers{1, 0}}});
  };
  const Dimension gates = in.shape(hidden_weight)[1];
  const ValueId both = squeezed(c, inputs[bias]);
  if (kind.option == linear_before_reset)
    return {matrix(input_weight), matrix(hidden_weight), ValueId::none(),
            part_of(c, both, 0, 0, gates), part_of(c, both, 0, gates, gates + gates)};
  return {matrix(input_weight), matrix(hidden_weight),
          c.add(part_of(c, both, 0, 0, gates), part_of(c, both, 0, gates, gates + gates)),
          ValueId::none(), ValueId::none()};
}

// ---- Single steps ------------------------------------------------------------------------------

using Step = State (*)(Composer& c, const Instance& in, const Weights& weights, ValueId x,
                       const State& state);

/// What the gates are applied to.
ValueId sum_of_products(Composer& c, const Weights& weights, ValueId x, ValueId state) {
  const ValueId products =
      c.add(c("MatMul", {x, weights.input}), c("MatMul", {state, weights.hidden}));
  return c.add(products, weights.bias);
}

/// A step of a long short-term memory (Hochreiter and Schmidhuber, 1997, with forget gates).
State lstm_step(Composer& c, const Instance& in, const Weights& weights, ValueId x,
                const State& state) {
  const ValueId sum = sum_of_products(c, weights, x, state[0]);
  const auto gate = [&](std::string_view function, std::int64_t number) {
    return c(function, {gate_of(c, sum, 1, number, in.shape(hidden_weight)[2])});
  };
  const ValueId input = gate("Sigmoid", 0), output = gate("Sigmoid", 1),
                forget = gate("Sigmoid", 2), candidate = gate("Tanh", 3);
  const ValueId next = c.add(c.multiply(forget, state[1]), c.multiply(input, candidate));
  return {c.multiply(output, c("Tanh", {next})), next};
}

/// A step of gated recurrent units (Cho et al., 2014). The candidate is computed from the state after it was reset,
/// or what the weights make of the state is reset.
State gru_step(Composer& c, const Instance& in, const Weights& weights, ValueId x,
               const State& state) {
  const Dimension size = in.shape(hidden_weight)[2], both = Dimension(2) * size;
  const bool linear_first = in.attributes.integer(linear_before_reset) != 0;
  const ValueId given = c.add(c("MatMul", {x, weights.input}), weights.input_bias);
  const auto of_state = [&](ValueId from, const Dimension& begin, const Dimension& end) {
    return c.add(c("MatMul", {from, part_of(c, weights.hidden, 1, begin, end)}),
                 part_of(c, weights.hidden_bias, 0, begin, end));
  };
  const ValueId kept = of_state(state[0], 0, both);
  const auto gate = [&](std::int64_t number) {
    return c("Sigmoid",
             {c.add(gate_of(c, given, 1, number, size), gate_of(c, kept, 1, number, size))});
  };
  const ValueId update = gate(0), reset = gate(1);
  const ValueId remembered = linear_first
                                 ? c.multiply(reset, of_state(state[0], both, both + size))
                                 : of_state(c.multiply(reset, state[0]), both, both + size);
  const ValueId candidate = c("Tanh", {c.add(gate_of(c, given, 1, 2, size), remembered)});
  const ValueId rest = c.subtract(c.scalar(1, in.type(sequence)), update);
  return {c.add(c.multiply(rest, candidate), c.multiply(update, state[0]))};
}

/// A step of a network with one layer whose result is also an operand of the next step (Elman,
/// 1990).
State rnn_step(Composer& c, const Instance& in, const Weights& weights, ValueId x,
               const State& state) {
  return {c(in.attributes.string(activation_option), {sum_of_products(c, weights, x, state[0])})};
}

// ---- Sequences ---------------------------------------------------------------------------------

/// All steps but the last one, and from the state after them the last one.
Compose one_more_step(Composer& c, Graph& graph, const RecurrenceKind& kind, const Instance& in,
                      std::span<const ValueId> inputs) {
  const Dimension before = in.shape(sequence)[0] - 1;
  const OperatorId op = operator_named(kind.name);
  std::vector<ValueId> operands(inputs.begin(), inputs.end());
  operands[sequence] = part_of(c, inputs[sequence], 0, 0, before);
  const std::size_t outputs = 1 + kind.states;
  LEMMA_ASSIGN_OR_RETURN(const NodeId first,
                         graph.add_operation(op, operands, in.attributes, outputs));
  operands[sequence] = part_of(c, inputs[sequence], 0, before, before + 1);
  for (std::uint32_t k = 0; k < kind.states; ++k)
    operands[hidden + k] = graph.node(first).output(k + 1);
  LEMMA_ASSIGN_OR_RETURN(const NodeId last,
                         graph.add_operation(op, operands, in.attributes, outputs));
  // What the last step adds to the results is the state after it.
  const ValueId added = c("Unsqueeze", {graph.node(last).output(1)}, {{"axes", Integers{0}}});
  std::vector<ValueId> result = {
      c("Concat", {graph.node(first).output(), added}, {{"axis", INT64_C(0)}})};
  for (std::uint32_t k = 0; k < kind.states; ++k) result.push_back(graph.node(last).output(k + 1));
  return c.outputs(std::move(result));
}

Compose compose_recurrence(Graph& graph, const RecurrenceKind& kind, const Instance& in,
                           std::span<const ValueId> inputs, Step step) {
  const Dimension steps = in.shape(sequence)[0], size = in.shape(hidden_weight)[2];
  if (!unfolds(in)) return unsupported(fmt::format("a recurrence over {} steps", steps.text()));
  Composer c(graph);
  if (!steps.is_constant()) return one_more_step(c, graph, kind, in, inputs);
  std::vector<ValueId> states;  // hidden ones, after steps
  State state;
  for (std::size_t k = 0; k < kind.states; ++k) state.push_back(squeezed(c, inputs[hidden + k]));
  const Weights weights = weights_of(c, kind, in, inputs);
  for (std::int64_t t = 0; t < steps.offset(); ++t) {
    state = step(c, in, weights, squeezed(c, part_of(c, inputs[sequence], 0, t, t + 1)), state);
    states.push_back(c("Unsqueeze", {state[0]}, {{"axes", Integers{0, 1}}}));
  }
  const Attributes nothing = {{"data_type", in.type(sequence)},
                              {"shape", Shape{0, 1, in.shape(sequence)[1], size}},
                              {"value", 0.0}};
  std::vector<ValueId> result = {states.empty() ? c("ConstantOfShape", {}, nothing)
                                                : c("Concat", states, {{"axis", INT64_C(0)}})};
  for (const ValueId value : state)
    result.push_back(c("Unsqueeze", {value}, {{"axes", Integers{0}}}));
  return c.outputs(std::move(result));
}

// ---- Records -----------------------------------------------------------------------------------

template <const RecurrenceKind& kind>
Types infer_steps(const Instance& in) {
  return infer_recurrence(in, kind, 1, false);
}

template <const RecurrenceKind& kind, Step step>
Compose compose_steps(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  return compose_recurrence(graph, kind, in, inputs, step);
}

template <const RecurrenceKind& kind>
Result<ImportedCall> import_steps(const OnnxCall& call, ImportedCall imported) {
  return import_recurrence(call, std::move(imported), kind, false);
}

template <const RecurrenceKind& kind>
Result<ExportedCall> export_steps(const Instance& in, int, ExportedCall exported) {
  return export_recurrence(in, std::move(exported), kind);
}

template <const RecurrenceKind& kind>
constexpr std::array steps_onnx = {OnnxMapping{.name = kind.name,
                                               .since = 7,
                                               .import_hook = import_steps<kind>,
                                               .export_hook = export_steps<kind>,
                                               .takes_strings = true}};

template <const RecurrenceKind& kind, Step step>
constexpr OperatorRecord steps_record(std::string_view summary,
                                      std::span<const AttributeSpecification> attributes = {}) {
  constexpr int operands = 4 + static_cast<int>(kind.states),
                results = 1 + static_cast<int>(kind.states);
  return {.name = kind.name,
          .summary = summary,
          .inputs = {operands, operands},
          .outputs = {results, results},
          .attributes = attributes,
          .flags = recurrent,
          .infer = infer_steps<kind>,
          .compose = compose_steps<kind, step>,
          .onnx = steps_onnx<kind>};
}

constexpr std::array gru_attributes = {linear_before_reset_attribute};
constexpr std::array rnn_attributes = {activation_attribute};

constexpr std::array recurrence_records = {
    steps_record<gru, gru_step>("gated recurrent units along axis 0, forward, with gates in the "
                                "order update, reset, candidate",
                                gru_attributes),
    steps_record<lstm, lstm_step>("a long short-term memory along axis 0, forward, with gates in "
                                  "the order input, output, forget, candidate"),
    steps_record<rnn, rnn_step>("an activation of products with the input and with the state "
                                "before, along axis 0, forward",
                                rnn_attributes),
};
static_assert(is_complete(recurrence_records));

}  // namespace

std::span<const OperatorRecord> recurrence() { return recurrence_records; }

}  // namespace lemma::operators
