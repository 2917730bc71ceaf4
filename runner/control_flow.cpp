#include "runner/control_flow.h"

#include <algorithm>

#include <fmt/format.h>

#include "procedures/constant_pieces.h"
#include "runner/body_runner.h"
#include "runner/flex_attention.h"

namespace lemma::runner {

namespace {

using Values = std::vector<RunTimeValue>;

/// A condition, or whatever stands for one that is absent.
Result<bool> condition(const RunTimeValue& value, bool otherwise) {
  if (value.is_nothing()) return otherwise;
  const Constant* tensor = value.tensor();
  if (tensor == nullptr || tensor->type().data_type != DataType::boolean ||
      tensor->element_count() != 1)
    return bad_input(fmt::format("the condition is {}, not one boolean", text(value)));
  return tensor->bytes().front() != std::byte{0};
}

// ---- If -----------------------------------------------------------------------------------------

Result<Values> run_if(const ControlFlowCall& call) {
  if (call.inputs.size() != 1 || call.inputs[0].is_nothing())
    return bad_input("If has one input, its condition");
  LEMMA_ASSIGN_OR_RETURN(const bool holds, condition(call.inputs[0], false));
  LEMMA_ASSIGN_OR_RETURN(BodyRunner body,
                         BodyRunner::create(call, holds ? "then_branch" : "else_branch"));
  return body.run({});
}

// ---- Results of many steps ----------------------------------------------------------------------

/// Puts the results of the steps one beside the other along a new axis. Without steps `type`, that of one of
/// them, says how the result looks.
Result<Constant> stacked(std::span<const Constant> steps, std::size_t axis,
                         const TensorType& type) {
  std::vector<Constant> parts;
  for (const Constant& step : steps) {
    std::vector<std::int64_t> sizes = sizes_of(step);
    if (axis > sizes.size()) return bad_input("the axis to scan along does not exist");
    sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    LEMMA_ASSIGN_OR_RETURN(Constant part, with_sizes(step, sizes));
    parts.push_back(std::move(part));
  }
  if (!parts.empty()) return joined(parts, axis);
  const auto known = type.is_known() ? constant_sizes(*type.shape) : std::nullopt;
  if (!known || axis > known->size())
    return unsupported("no step was run, and the sizes of what a step gives are not known");
  std::vector<std::int64_t> sizes = *known;
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(axis), 0);
  return Constant::create({type.data_type, Shape(sizes.begin(), sizes.end())}, nullptr, {});
}

/// What each step has given for each of the scanned outputs.
using Steps = std::vector<std::vector<Constant>>;

/// Divides the outputs of a step into the states, which become `states`, and the scanned outputs.
Result<void> take_step(Values outputs, std::size_t first, Values& states, Steps& steps) {
  for (std::size_t i = 0; i < states.size(); ++i) states[i] = std::move(outputs[first + i]);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Constant* tensor = outputs[first + states.size() + i].tensor();
    if (tensor == nullptr)
      return unsupported(
          fmt::format("a step gives {} to be scanned", text(outputs[first + states.size() + i])));
    steps[i].push_back(*tensor);
  }
  return {};
}

// ---- Loop ---------------------------------------------------------------------------------------

/// How many steps a Loop takes at most; nothing: as many as its condition says.
Result<std::optional<std::int64_t>> trip_count(const RunTimeValue& value) {
  if (value.is_nothing()) return std::nullopt;
  const Constant* tensor = value.tensor();
  if (tensor == nullptr || tensor->type().data_type != DataType::i64 ||
      tensor->element_count() != 1)
    return bad_input(fmt::format("the number of steps is {}, not one i64", text(value)));
  return tensor->integers().front();
}

Values inputs_of_step(std::int64_t i, const Values& states) {
  Values own = {Constant::of(DataType::i64, {}, std::vector<std::int64_t>{i}),
                Constant::of(DataType::boolean, {}, std::vector<std::uint8_t>{1})};
  own.insert(own.end(), states.begin(), states.end());
  return own;
}

Result<Values> run_loop(const ControlFlowCall& call) {
  if (call.inputs.size() < 2) return bad_input("Loop has two inputs or more");
  LEMMA_ASSIGN_OR_RETURN(const auto count, trip_count(call.inputs[0]));
  LEMMA_ASSIGN_OR_RETURN(bool goes_on, condition(call.inputs[1], true));
  const bool is_conditional = !call.inputs[1].is_nothing();
  LEMMA_ASSIGN_OR_RETURN(BodyRunner body, BodyRunner::create(call, "body"));
  Values states(call.inputs.begin() + 2, call.inputs.end());
  if (body.input_count() != states.size() + 2 || body.output_count() < states.size() + 1)
    return bad_input("the body of Loop has a wrong number of inputs or outputs");
  Steps steps(body.output_count() - states.size() - 1);
  for (std::int64_t i = 0; goes_on && (!count || i < *count); ++i) {
    if (i == call.options.step_limit)
      return unsupported(fmt::format("the loop did not end within {} steps", i));
    LEMMA_ASSIGN_OR_RETURN(Values outputs, body.run(inputs_of_step(i, states)));
    // Without a condition what the body says of it is ignored.
    if (is_conditional) {
      LEMMA_ASSIGN_OR_RETURN(goes_on, condition(outputs[0], true));
    }
    LEMMA_RETURN_IF_ERROR(take_step(std::move(outputs), 1, states, steps));
  }
  Values results = states;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    TensorType type;
    if (steps[i].empty()) {
      LEMMA_ASSIGN_OR_RETURN(type,
                             body.output_type(states.size() + 1 + i, inputs_of_step(0, states)));
    }
    LEMMA_ASSIGN_OR_RETURN(Constant result, stacked(steps[i], 0, type));
    results.emplace_back(std::move(result));
  }
  return results;
}

// ---- Scan ---------------------------------------------------------------------------------------

/// Along which axes a Scan goes, and which way; one entry for each scanned input or output.
struct ScanPath {
  std::vector<std::int64_t> input_axes, input_directions, output_axes, output_directions;
};

Result<ScanPath> path_of(const KeptNode& node, std::size_t inputs, std::size_t outputs) {
  const auto list = [&node](std::string_view name, std::size_t count) {
    auto given = node.attributes().integers(name).value_or(std::vector<std::int64_t>());
    if (given.empty()) given.resize(count);
    return given;
  };
  const bool has_batches = node.operator_set() < 9;
  ScanPath path = {list("scan_input_axes", inputs),
                   list(has_batches ? "directions" : "scan_input_directions", inputs),
                   list("scan_output_axes", outputs), list("scan_output_directions", outputs)};
  if (path.input_axes.size() != inputs || path.input_directions.size() != inputs ||
      path.output_axes.size() != outputs || path.output_directions.size() != outputs)
    return bad_input("Scan has lists of axes or directions of a wrong length");
  return path;
}

/// The slice of a scanned input for one step.
Result<Constant> slice(const Constant& input, std::size_t axis, std::int64_t position) {
  LEMMA_ASSIGN_OR_RETURN(const Constant part, piece(input, axis, position, 1));
  std::vector<std::int64_t> sizes = sizes_of(part);
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(axis));
  return with_sizes(part, sizes);
}

class Scanning {
 public:
  Scanning(BodyRunner& body, ScanPath path) : body_(body), path_(std::move(path)) {}

  /// The states after the last step, then the scanned outputs.
  Result<Values> run(Values states, std::span<const Constant> inputs) {
    LEMMA_ASSIGN_OR_RETURN(const std::int64_t length, find_axes(inputs));
    Steps steps(body_.output_count() - states.size());
    for (std::int64_t i = 0; i < length; ++i) {
      Values own = states;
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        const std::int64_t position = path_.input_directions[k] == 0 ? i : length - 1 - i;
        LEMMA_ASSIGN_OR_RETURN(Constant part, slice(inputs[k], axes_[k], position));
        own.emplace_back(std::move(part));
      }
      LEMMA_ASSIGN_OR_RETURN(Values outputs, body_.run(std::move(own)));
      LEMMA_RETURN_IF_ERROR(take_step(std::move(outputs), 0, states, steps));
    }
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].empty()) return unsupported("Scan without steps");
      if (path_.output_directions[i] != 0) std::reverse(steps[i].begin(), steps[i].end());
      LEMMA_ASSIGN_OR_RETURN(const std::size_t axis,
                             axis_of(path_.output_axes[i], 1 + steps[i].front().type().rank()));
      LEMMA_ASSIGN_OR_RETURN(Constant result, stacked(steps[i], axis, {}));
      states.emplace_back(std::move(result));
    }
    return states;
  }

 private:
  /// The number of steps, which all scanned inputs agree on.
  Result<std::int64_t> find_axes(std::span<const Constant> inputs) {
    axes_.clear();
    std::optional<std::int64_t> length;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const std::vector<std::int64_t> sizes = sizes_of(inputs[k]);
      LEMMA_ASSIGN_OR_RETURN(const std::size_t axis, axis_of(path_.input_axes[k], sizes.size()));
      axes_.push_back(axis);
      if (length && *length != sizes[axis])
        return bad_input(fmt::format("scanned inputs have {} and {} steps", *length, sizes[axis]));
      length = sizes[axis];
    }
    return length.value_or(0);
  }

  BodyRunner& body_;
  ScanPath path_;
  std::vector<std::size_t> axes_;  // of the scanned inputs
};

Result<std::vector<Constant>> tensors_of(std::span<const RunTimeValue> values) {
  std::vector<Constant> tensors;
  for (const RunTimeValue& value : values) {
    if (value.tensor() == nullptr) return unsupported(fmt::format("Scan over {}", text(value)));
    tensors.push_back(*value.tensor());
  }
  return tensors;
}

/// Operator set 8: every input has a batch axis first, and each batch is scanned by itself.
Result<Values> scan_batches(Scanning& scanning, std::span<const Constant> states,
                            std::span<const Constant> inputs) {
  if (inputs.empty() || inputs[0].type().rank() < 2)
    return bad_input("Scan of operator set 8 scans tensors of rank 2 or more");
  const std::int64_t batches = sizes_of(inputs[0]).front();
  if (batches == 0) return unsupported("Scan of operator set 8 without batches");
  Steps results;  // by output, then by batch
  for (std::int64_t b = 0; b < batches; ++b) {
    Values own;
    std::vector<Constant> scanned;
    for (const Constant& state : states) {
      if (state.type().rank() == 0 || sizes_of(state).front() != batches)
        return bad_input("an input of Scan has another number of batches");
      LEMMA_ASSIGN_OR_RETURN(Constant part, slice(state, 0, b));
      own.emplace_back(std::move(part));
    }
    for (const Constant& input : inputs) {
      if (input.type().rank() < 2 || sizes_of(input).front() != batches)
        return bad_input("an input of Scan has another number of batches");
      LEMMA_ASSIGN_OR_RETURN(Constant part, slice(input, 0, b));
      scanned.push_back(std::move(part));
    }
    LEMMA_ASSIGN_OR_RETURN(const Values outputs, scanning.run(std::move(own), scanned));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Constant> tensors, tensors_of(outputs));
    results.resize(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) results[i].push_back(tensors[i]);
  }
  Values all;
  for (const std::vector<Constant>& batch : results) {
    LEMMA_ASSIGN_OR_RETURN(Constant result, stacked(batch, 0, {}));
    all.emplace_back(std::move(result));
  }
  return all;
}

Result<Values> run_scan(const ControlFlowCall& call) {
  const bool has_batches = call.node.operator_set() < 9;
  std::span<const RunTimeValue> operands = call.inputs;
  if (has_batches && !operands.empty()) {
    if (!operands.front().is_nothing()) return unsupported("Scan with lengths of sequences");
    operands = operands.subspan(1);
  }
  const std::int64_t count = call.node.attributes().integer("num_scan_inputs", 0);
  if (count < 1 || count > static_cast<std::int64_t>(operands.size()))
    return bad_input("num_scan_inputs of Scan is wrong");
  const auto scanned = static_cast<std::size_t>(count);
  const std::size_t state_count = operands.size() - scanned;
  LEMMA_ASSIGN_OR_RETURN(BodyRunner body, BodyRunner::create(call, "body"));
  if (body.input_count() != operands.size() || body.output_count() < state_count)
    return bad_input("the body of Scan has a wrong number of inputs or outputs");
  LEMMA_ASSIGN_OR_RETURN(ScanPath path,
                         path_of(call.node, scanned, body.output_count() - state_count));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Constant> inputs,
                         tensors_of(operands.subspan(state_count)));
  Scanning scanning(body, std::move(path));
  if (!has_batches)
    return scanning.run(
        Values(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(state_count)),
        inputs);
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Constant> states,
                         tensors_of(operands.first(state_count)));
  return scan_batches(scanning, states, inputs);
}

// ---- SequenceMap --------------------------------------------------------------------------------

Result<Values> run_sequence_map(const ControlFlowCall& call) {
  LEMMA_ASSIGN_OR_RETURN(BodyRunner body, BodyRunner::create(call, "body"));
  const auto* first = call.inputs.empty() ? nullptr : call.inputs[0].sequence();
  if (first == nullptr || body.input_count() != call.inputs.size())
    return bad_input("SequenceMap needs a sequence, and a body with an input for each of its own");
  std::vector<RunTimeValue::Sequence> results(body.output_count());
  for (std::size_t i = 0; i < first->size(); ++i) {
    Values own;
    for (const RunTimeValue& input : call.inputs) {
      const auto* sequence = input.sequence();
      if (sequence != nullptr && i >= sequence->size())
        return bad_input("the sequences of SequenceMap have different lengths");
      own.push_back(sequence != nullptr ? (*sequence)[i] : input);
    }
    LEMMA_ASSIGN_OR_RETURN(Values outputs, body.run(std::move(own)));
    for (std::size_t k = 0; k < results.size(); ++k) results[k].push_back(std::move(outputs[k]));
  }
  Values all;
  for (RunTimeValue::Sequence& result : results) all.emplace_back(std::move(result));
  return all;
}

}  // namespace

Result<Values> run_control_flow(const ControlFlowCall& call) {
  const std::string& name = call.node.name();
  if (call.node.domain().empty()) {
    if (name == "If") return run_if(call);
    if (name == "Loop") return run_loop(call);
    if (name == "Scan") return run_scan(call);
    if (name == "SequenceMap") return run_sequence_map(call);
  }
  if (is_flex_attention(call.node)) return run_flex_attention(call);
  return unsupported(fmt::format("{} cannot be run: it has bodies", name));
}

}  // namespace lemma::runner
