#include "backend/emit/flow_text.h"

#include <vector>

#include <fmt/format.h>

#include "backend/emit/tables_text.h"

namespace lemma::backend {

namespace {

std::string action_name(FlowAction action) {
  switch (action) {
    case FlowAction::run: return "run";
    case FlowAction::copy: return "copy";
    case FlowAction::exchange: return "exchange";
    case FlowAction::reset: return "reset";
    case FlowAction::test: return "test";
    case FlowAction::jump: return "jump";
    case FlowAction::jump_if: return "jump_if";
    case FlowAction::jump_unless: return "jump_unless";
    case FlowAction::begin_count: return "begin_count";
    case FlowAction::jump_if_done: return "jump_if_done";
    case FlowAction::advance: return "advance";
    case FlowAction::require_room: return "require_room";
    case FlowAction::write_count: return "write_count";
    case FlowAction::read_row: return "read_row";
    case FlowAction::open_rows: return "open_rows";
    case FlowAction::write_row: return "write_row";
    case FlowAction::close_rows: return "close_rows";
  }
  return "";
}

/// A signed number of 64 bits as C++ has it: the least one is no literal.
std::string number_text(std::int64_t number) {
  if (number < -9223372036854775807) return "-9223372036854775807 - 1";
  return fmt::format("{}", number);
}

class FlowTables {
 public:
  explicit FlowTables(const FlowProgram& program) : program_(program) {}

  std::string text() {
    for (std::size_t i = 0; i < program_.segments.size(); ++i) {
      const OperatorGraph& graph = program_.segments[i].graph;
      segments_.add(fmt::format("{{{}, {}}}", program_.segment_places[i],
                                graph.inputs.size() + graph.outputs.size()));
    }
    for (const FlowTensor& tensor : program_.tensors)
      tensors_.add(fmt::format("{{{}, {}}}", place_of(tensor), tensor.bytes()));
    for (const FlowInstruction& step : program_.instructions) add(step);
    for (std::uint32_t i = 0; i < program_.counters.size(); ++i)
      refusals_.add(quoted_text(refusal_of(i)));
    return head() + segments_.finish("{0, 0}") + tensors_.finish("{{0, 0}, 0}") +
           arguments_.finish("0") + rows_.finish("{0, 0, 0, false}") + refusals_.finish("nullptr") +
           instructions_.finish("{Action::jump, 0, 0, 0, 0, 0, 0}") + outputs_text() +
           fmt::format(
               "constexpr Flow flow = {{flow_instructions, {}, flow_tensors, {}, "
               "flow_segments, flow_arguments, flow_rows, flow_refusals, {}}};\n\n"
               "}}  // namespace\n",
               program_.instructions.size(), program_.tensors.size(), program_.counters.size() + 1);
  }

 private:
  static std::string head() {
    return "#pragma once\n// What runs in which order: schedules by number, tensors, and "
           "instructions.\n\n#include \"flow.h\"\n\nnamespace {\n\n";
  }

  std::string place_of(const FlowTensor& tensor) const {
    switch (tensor.memory) {
      case Memory::input: return fmt::format("{{{}, 0}}", 2 + tensor.position);
      case Memory::output:
        return fmt::format("{{{}, 0}}", 2 + program_.inputs.size() + tensor.position);
      default: return fmt::format("{{0, {}}}", tensor.offset);
    }
  }

  /// What is said where a run of the loop with this counter cannot go on.
  std::string refusal_of(std::uint32_t counter) const {
    for (const FlowInstruction& step : program_.instructions)
      if (step.action == FlowAction::require_room && step.counter == counter)
        return fmt::format("{} takes more than {} steps, and its outputs have no room for more",
                           program_.counters[counter].name, step.number);
    return program_.counters[counter].name +
           " does not take as many steps as its outputs have rows";
  }

  /// The rows that there is room for, by output; 0 where all are always written.
  std::string outputs_text() const {
    Table most("std::uint64_t", "most_rows");
    for (const FlowTensorNumber output : program_.outputs) {
      const FlowTensor& tensor = program_.tensors[output];
      most.add(fmt::format("{}", tensor.has_free_rows ? tensor.sizes.front() : 0));
    }
    return most.finish("0");
  }

  void add(const FlowInstruction& step) {
    std::size_t extra = 0;
    std::int64_t number = step.number;
    switch (step.action) {
      case FlowAction::run:
        number = step.segment;
        extra = argument_count_;
        argument_count_ += step.arguments.size();
        for (const FlowTensorNumber tensor : step.arguments)
          arguments_.add(fmt::format("{}", tensor));
        break;
      case FlowAction::close_rows: number = free_output(step.to); [[fallthrough]];
      case FlowAction::read_row:
      case FlowAction::write_row:
        extra = row_count_++;
        rows_.add(fmt::format("{{{}, {}, {}, {}}}", step.rows.outer, step.rows.bytes,
                              step.rows.count, step.rows.is_reversed));
        break;
      default: break;
    }
    const auto known = [](FlowTensorNumber tensor) {
      return tensor == no_tensor ? "no_tensor" : fmt::format("{}", tensor);
    };
    instructions_.add(fmt::format("{{Action::{}, {}, {}, {}, {}, {}, {}}}",
                                  action_name(step.action), known(step.to), known(step.from),
                                  step.counter, step.target, extra, number_text(number)));
  }

  /// The position of an output whose rows a run decides; -1 for other tensors.
  std::int64_t free_output(FlowTensorNumber number) const {
    const FlowTensor& tensor = program_.tensors[number];
    return tensor.has_free_rows ? static_cast<std::int64_t>(tensor.position) : -1;
  }

  const FlowProgram& program_;
  Table segments_{"Segment", "flow_segments"}, tensors_{"FlowTensor", "flow_tensors"};
  Table arguments_{"std::uint32_t", "flow_arguments"}, rows_{"RowLayout", "flow_rows"};
  Table refusals_{"const char* const", "flow_refusals"};
  Table instructions_{"Instruction", "flow_instructions"};
  std::size_t argument_count_ = 0, row_count_ = 0;
};

}  // namespace

std::string flow_tables_text(const FlowProgram& program) { return FlowTables(program).text(); }

}  // namespace lemma::backend
