#include "backend/flow_program.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lemma::backend {

namespace {

/// Reads "copy y <- x", by the action.
class InstructionText {
 public:
  explicit InstructionText(const FlowProgram& program) : program_(program) {}

  std::string of(const FlowInstruction& step) const {
    const std::string to = name(step.to), from = name(step.from);
    const std::string& counter =
        step.counter < program_.counters.size() ? program_.counters[step.counter].name : none_;
    switch (step.action) {
      case FlowAction::run: return run(step);
      case FlowAction::copy: return fmt::format("copy {} <- {}", to, from);
      case FlowAction::exchange: return fmt::format("exchange {} <- {}", to, from);
      case FlowAction::reset: return fmt::format("reset {}, {}", to, from);
      case FlowAction::test: return fmt::format("test {} [{}]", from, counter);
      case FlowAction::jump: return fmt::format("jump {}", step.target);
      case FlowAction::jump_if: return fmt::format("jump_if {} [{}]", step.target, counter);
      case FlowAction::jump_unless: return fmt::format("jump_unless {} [{}]", step.target, counter);
      case FlowAction::begin_count:
        return fmt::format("begin_count {} [{}]", step.from == no_tensor ? limit(step) : from,
                           counter);
      case FlowAction::jump_if_done:
        return fmt::format("jump_if_done {} [{}]", step.target, counter);
      case FlowAction::advance: return fmt::format("advance [{}]", counter);
      case FlowAction::require_room:
        return fmt::format("require_room {} [{}]", step.number, counter);
      case FlowAction::write_count: return fmt::format("write_count {} [{}]", to, counter);
      case FlowAction::read_row: return fmt::format("read_row {} <- {} [{}]", to, from, counter);
      case FlowAction::open_rows: return fmt::format("open_rows {} [{}]", to, counter);
      case FlowAction::write_row: return fmt::format("write_row {} <- {} [{}]", to, from, counter);
      case FlowAction::close_rows: return fmt::format("close_rows {} [{}]", to, counter);
    }
    return "";
  }

 private:
  std::string name(FlowTensorNumber tensor) const {
    return tensor < program_.tensors.size()
               ? fmt::format("{}.{}", tensor, program_.tensors[tensor].name)
               : "";
  }

  static std::string limit(const FlowInstruction& step) {
    return step.number == std::numeric_limits<std::int64_t>::max() ? "without limit"
                                                                   : fmt::format("{}", step.number);
  }

  std::string run(const FlowInstruction& step) const {
    std::vector<std::string> inputs, outputs;
    const std::size_t count = program_.segments[step.segment].graph.inputs.size();
    for (std::size_t i = 0; i < step.arguments.size(); ++i)
      (i < count ? inputs : outputs).push_back(name(step.arguments[i]));
    return fmt::format("run {}: {} <- {}", step.segment, fmt::join(outputs, ", "),
                       fmt::join(inputs, ", "));
  }

  const FlowProgram& program_;
  const std::string none_;
};

Buffer buffer_of(const FlowTensor& tensor, Memory memory, std::uint32_t position) {
  Buffer buffer;
  buffer.name = tensor.name;
  buffer.memory = memory;
  buffer.type = tensor.type;
  buffer.sizes = tensor.sizes;
  buffer.elements = tensor.elements();
  buffer.position = position;
  return buffer;
}

}  // namespace

std::int64_t FlowTensor::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

bool FlowProgram::has_free_rows() const {
  return std::any_of(outputs.begin(), outputs.end(),
                     [this](FlowTensorNumber output) { return tensors[output].has_free_rows; });
}

TaskProgram described_interface(const FlowProgram& program) {
  TaskProgram described;
  const auto add = [&](const std::vector<FlowTensorNumber>& tensors, Memory memory,
                       std::vector<BufferNumber>& numbers) {
    for (std::uint32_t i = 0; i < tensors.size(); ++i) {
      numbers.push_back(static_cast<BufferNumber>(described.graph.buffers.size()));
      described.graph.buffers.push_back(buffer_of(program.tensors[tensors[i]], memory, i));
    }
  };
  add(program.inputs, Memory::input, described.graph.inputs);
  add(program.outputs, Memory::output, described.graph.outputs);
  std::size_t units = 1;
  for (const TaskProgram& segment : program.segments) units = std::max(units, segment.units.size());
  described.units.resize(units);
  described.arena_bytes = program.arena_bytes;
  described.weight_bytes = program.segments.front().weight_bytes;
  return described;
}

std::string text(const FlowProgram& program) {
  const InstructionText lines(program);
  std::string result;
  for (std::size_t i = 0; i < program.instructions.size(); ++i)
    result += fmt::format("{}: {}\n", i, lines.of(program.instructions[i]));
  return result;
}

}  // namespace lemma::backend
