#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "operators/composition.h"
#include "operators/families.h"
#include "operators/helpers.h"
#include "operators/runtime_names.h"
#include "operators/sizes.h"

// A long short-term memory of a runtime whose weights are quantized, and that quantizes what they are multiplied by while it
// runs: the whole sequence once, and the hidden states of the batch at each step.

namespace lemma::operators {
namespace {

using Compose = Result<std::vector<ValueId>>;
using Types = Result<std::vector<TensorType>>;

enum : std::size_t {
  sequence,       // [steps, batch, inputs]
  input_weight,   // [directions, inputs, gates * hidden]
  hidden_weight,  // [directions, hidden, gates * hidden]
  input_scale,    // [directions], or [directions, gates * hidden]; so are the next three
  input_zero_point,
  hidden_scale,
  hidden_zero_point,
  bias,    // [directions, 2 * gates * hidden]
  hidden,  // [directions, batch, hidden]
  cell
};
constexpr std::int64_t gates = 4;
constexpr std::int64_t most_steps = 1024;  // each is written out where the operator is evaluated

bool is_bidirectional(const Instance& in) {
  return in.attributes.string("direction") == "bidirectional";
}

Dimension size_of_state(const Instance& in) { return in.shape(hidden_weight)[1]; }

Result<void> check_types(const Instance& in) {
  const DataType weights = in.type(input_weight);
  if (weights != DataType::i8 && weights != DataType::u8)
    return bad_input(fmt::format("weights of {}", name(weights)));
  for (std::size_t i = 0; i < in.inputs.size(); ++i) {
    const bool is_quantized =
        i == input_weight || i == hidden_weight || i == input_zero_point || i == hidden_zero_point;
    const DataType wanted = is_quantized ? weights : DataType::f32;
    if (in.has(i) && in.type(i) != wanted)
      return bad_input(fmt::format("input {} is {}, not {}", i, name(in.type(i)), name(wanted)));
  }
  return {};
}

Result<void> check_sizes(const Instance& in, std::size_t operand, const Shape& wanted) {
  LEMMA_RETURN_IF_ERROR(require_rank(in, operand, wanted.size(), wanted.size()));
  for (std::size_t axis = 0; axis < wanted.size(); ++axis)
    LEMMA_RETURN_IF_ERROR(
        require_same_size(in, in.shape(operand)[axis], wanted[axis],
                          fmt::format("sizes of axis {} of input {}", axis, operand)));
  return {};
}

Types infer_quantized_lstm(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(check_types(in));
  for (const std::size_t i : {sequence, input_weight, hidden_weight})
    LEMMA_RETURN_IF_ERROR(require_rank(in, i, 3, 3));
  const Dimension steps = in.shape(sequence)[0], batch = in.shape(sequence)[1],
                  inputs = in.shape(sequence)[2], size = size_of_state(in),
                  columns = Dimension(gates) * size, directions = is_bidirectional(in) ? 2 : 1;
  if (!steps.is_constant() || steps.offset() > most_steps)
    return unsupported(fmt::format("a recurrence over {} steps", steps.text()));
  LEMMA_RETURN_IF_ERROR(check_sizes(in, input_weight, {directions, inputs, columns}));
  LEMMA_RETURN_IF_ERROR(check_sizes(in, hidden_weight, {directions, size, columns}));
  for (const std::size_t i : {input_scale, input_zero_point, hidden_scale, hidden_zero_point}) {
    LEMMA_RETURN_IF_ERROR(require_rank(in, i, 1, 2));
    LEMMA_RETURN_IF_ERROR(
        check_sizes(in, i, in.rank(i) == 1 ? Shape{directions} : Shape{directions, columns}));
  }
  const Shape state = {directions, batch, size};
  if (in.has(bias)) LEMMA_RETURN_IF_ERROR(check_sizes(in, bias, {directions, columns + columns}));
  for (const std::size_t i : {hidden, cell})
    if (in.has(i)) LEMMA_RETURN_IF_ERROR(check_sizes(in, i, state));
  std::vector<TensorType> types(3, {DataType::f32, state});
  types[0].shape = Shape{steps, directions, batch, size};
  return types;
}

/// The steps of one direction.
class Steps {
 public:
  Steps(Graph& graph, const Instance& in, std::span<const ValueId> inputs, std::int64_t direction)
      : graph_(graph), c_(graph), in_(in), inputs_(inputs), direction_(direction) {}

  /// The hidden states [1, 1, batch, hidden], by step, and the last states [1, batch, hidden].
  struct Results {
    std::vector<ValueId> states;
    std::vector<ValueId> last;
  };

  Result<Results> run(bool backward) {
    const std::int64_t count = in_.shape(sequence)[0].offset();
    LEMMA_ASSIGN_OR_RETURN(const ValueId given,
                           product(inputs_[sequence], input_weight, input_scale, input_zero_point));
    ValueId state = start(hidden), memory = start(cell);
    Results results;
    results.states.resize(static_cast<std::size_t>(count));
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t t = backward ? count - 1 - k : k;
      LEMMA_ASSIGN_OR_RETURN(const ValueId remembered,
                             product(state, hidden_weight, hidden_scale, hidden_zero_point));
      ValueId sum = c_.add(squeezed(part(given, 0, t, t + 1)), remembered);
      if (in_.has(bias)) sum = c_.add(sum, both_biases());
      const ValueId input = gate(sum, "Sigmoid", 0), output = gate(sum, "Sigmoid", 1),
                    forget = gate(sum, "Sigmoid", 2), candidate = gate(sum, "Tanh", 3);
      memory = c_.add(c_.multiply(forget, memory), c_.multiply(input, candidate));
      state = c_.multiply(output, c_("Tanh", {memory}));
      results.states[static_cast<std::size_t>(t)] =
          c_("Unsqueeze", {state}, {{"axes", Integers{0, 1}}});
    }
    for (const ValueId value : {state, memory})
      results.last.push_back(c_("Unsqueeze", {value}, {{"axes", Integers{0}}}));
    LEMMA_RETURN_IF_ERROR(c_.outputs(results.last));
    return results;
  }

 private:
  ValueId part(ValueId value, std::int64_t axis, const Dimension& begin, const Dimension& end) {
    return c_("Slice", {value},
              {{"starts", Shape{begin}}, {"ends", Shape{end}}, {"axes", Integers{axis}}});
  }
  ValueId squeezed(ValueId value) { return c_("Squeeze", {value}, {{"axes", Integers{0}}}); }
  ValueId of_direction(std::size_t operand) {
    return squeezed(part(inputs_[operand], 0, direction_, direction_ + 1));
  }

  ValueId start(std::size_t operand) {
    if (in_.has(operand)) return of_direction(operand);
    return c_("ConstantOfShape", {},
              {{"data_type", DataType::f32},
               {"shape", Shape{in_.shape(sequence)[1], size_of_state(in_)}},
               {"value", 0.0}});
  }

  ValueId both_biases() {
    const Dimension half = Dimension(gates) * size_of_state(in_);
    const ValueId both = of_direction(bias);
    return c_.add(part(both, 0, 0, half), part(both, 0, half, half + half));
  }

  ValueId gate(ValueId sum, std::string_view function, std::int64_t number) {
    const Dimension size = size_of_state(in_), begin = Dimension(number) * size;
    return c_(function, {part(sum, 1, begin, begin + size)});
  }

  /// Of all rows, which have one scale and one zero point, and weights.
  Result<ValueId> product(ValueId rows, std::size_t weights, std::size_t scale,
                          std::size_t zero_point) {
    LEMMA_ASSIGN_OR_RETURN(
        const NodeId quantized,
        graph_.add_operation(operator_named("DynamicQuantizeLinear"), {rows}, {}, 3));
    const Node& node = graph_.node(quantized);
    const ValueId elements = node.output(0), scale_of_rows = node.output(1),
                  zero_of_rows = node.output(2);
    const ValueId sums = c_(
        "MatMulInteger", {elements, of_direction(weights), zero_of_rows, of_direction(zero_point)});
    return c_.multiply(c_.cast(sums, DataType::f32),
                       c_.multiply(scale_of_rows, of_direction(scale)));
  }

  Graph& graph_;
  Composer c_;
  const Instance& in_;
  std::span<const ValueId> inputs_;
  std::int64_t direction_;
};

Compose compose_quantized_lstm(Graph& graph, const Instance& in, std::span<const ValueId> inputs) {
  Composer c(graph);
  const bool both = is_bidirectional(in);
  std::vector<std::vector<ValueId>> parts(3);  // by output, of each direction
  for (std::int64_t direction = 0; direction < (both ? 2 : 1); ++direction) {
    const bool backward = direction == 1 || in.attributes.string("direction") == "reverse";
    LEMMA_ASSIGN_OR_RETURN(const Steps::Results results,
                           Steps(graph, in, inputs, direction).run(backward));
    const Attributes nothing = {{"data_type", DataType::f32},
                                {"shape", Shape{0, 1, in.shape(sequence)[1], size_of_state(in)}},
                                {"value", 0.0}};
    parts[0].push_back(results.states.empty()
                           ? c("ConstantOfShape", {}, nothing)
                           : c("Concat", results.states, {{"axis", INT64_C(0)}}));
    for (std::size_t k = 0; k < 2; ++k) parts[1 + k].push_back(results.last[k]);
  }
  std::vector<ValueId> outputs;
  for (std::size_t k = 0; k < parts.size(); ++k)
    outputs.push_back(both ? c("Concat", parts[k], {{"axis", std::int64_t{k == 0 ? 1 : 0}}})
                           : parts[k].front());
  return c.outputs(std::move(outputs));
}

// ---- In files ----------------------------------------------------------------------------------

/// Inputs of the file, by operand.
constexpr std::array<std::size_t, 10> file_inputs = {0, 1, 2, 8, 9, 10, 11, 3, 5, 6};
constexpr std::size_t file_input_count = 12;

Result<ImportedCall> import_quantized_lstm(const OnnxCall& call, ImportedCall imported) {
  LEMMA_RETURN_IF_ERROR(only_attributes(call, {"hidden_size", "direction", "input_forget"}));
  if (integer_or(call, "input_forget", 0) != 0) return unsupported("gates that are coupled");
  const std::string direction(string_or(call, "direction", "forward"));
  const std::vector<std::string> standard = {"Sigmoid", "Tanh", "Tanh"};
  for (const auto& [name, values] : call.strings)
    for (std::size_t i = 0; i < values.size(); ++i)
      if (name != "activations" || values[i] != standard[i % standard.size()])
        return unsupported("other activations");
  const auto is_present = [&](std::size_t i) {
    return i < call.inputs.size() && call.inputs[i].present();
  };
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    if (is_present(i) && std::find(file_inputs.begin(), file_inputs.end(), i) == file_inputs.end())
      return unsupported("lengths of sequences or peepholes");
  imported.inputs.clear();
  for (std::size_t operand = 0; operand < file_inputs.size(); ++operand) {
    const std::size_t input = file_inputs[operand];
    if (!is_present(input) && operand < bias)
      return unsupported(fmt::format("input {} is absent", input));
    imported.inputs.push_back(is_present(input) ? static_cast<int>(input) : -1);
  }
  while (imported.inputs.back() < 0) imported.inputs.pop_back();
  imported.attributes = {};
  imported.attributes.set("direction", direction);
  imported.outputs = {0, 1, 2};  // whether or not the file names them
  return imported;
}

Result<ExportedCall> export_quantized_lstm(const Instance& in, int, ExportedCall exported) {
  const Dimension size = size_of_state(in);
  if (!size.is_constant()) return unsupported("a size of the state that is not known");
  exported.attributes.set("hidden_size", size.offset());
  if (in.attributes.string("direction") == "forward") exported.attributes.erase("direction");
  std::vector<OnnxInput> inputs(file_input_count, OnnxAbsent{});
  for (std::size_t operand = 0; operand < exported.inputs.size(); ++operand)
    inputs[file_inputs[operand]] = exported.inputs[operand];
  exported.inputs = std::move(inputs);
  return exported;
}

constexpr std::array directions = {std::string_view("bidirectional"), std::string_view("forward"),
                                   std::string_view("reverse")};
constexpr std::array quantized_lstm_attributes = {AttributeSpecification{
    "direction", AttributeKind::string, "\"forward\"", AttributeRole::plain, directions}};
constexpr std::array quantized_lstm_onnx = {OnnxMapping{.name = "DynamicQuantizeLSTM",
                                                        .import_hook = import_quantized_lstm,
                                                        .export_hook = export_quantized_lstm,
                                                        .domain = onnx_runtime_domain,
                                                        .runtime = onnx_runtime,
                                                        .takes_strings = true}};
constexpr std::array quantized_lstm_examples = {
    OperatorExample{"f32[2, B, I]; i8[1, I, 4*H]; i8[1, H, 4*H]; f32[1]; i8[1]; f32[1]; i8[1]", "",
                    3},
    OperatorExample{"f32[2, B, I]; u8[2, I, 4*H]; u8[2, H, 4*H]; f32[2, 4*H]; u8[2, 4*H]; f32[2]; "
                    "u8[2]; f32[2, 8*H]; f32[2, B, H]; f32[2, B, H]",
                    "direction=\"bidirectional\"", 3},
};

constexpr std::array quantized_recurrence_records = {
    OperatorRecord{.name = "DynamicQuantizeLSTM",
                   .summary = "a long short-term memory with quantized weights; the sequence, and "
                              "the states of all the batch at each step, are quantized by their "
                              "range",
                   .inputs = {7, 10},
                   .outputs = {3, 3},
                   .attributes = quantized_lstm_attributes,
                   .infer = infer_quantized_lstm,
                   .compose = compose_quantized_lstm,
                   .onnx = quantized_lstm_onnx,
                   .runtime = onnx_runtime,
                   .examples = quantized_lstm_examples},
};
static_assert(is_complete(quantized_recurrence_records));

}  // namespace

std::span<const OperatorRecord> quantized_recurrence() { return quantized_recurrence_records; }

}  // namespace lemma::operators
