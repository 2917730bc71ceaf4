#include "backend/flow/make_flow_program.h"

#include <limits>
#include <utility>

#include "backend/flow/flow_memory.h"
#include "backend/flow/flow_roles.h"

namespace lemma::backend {

namespace {

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

/// Writes the instructions of blocks.
class InstructionMaker {
 public:
  InstructionMaker(const FlowRoles& roles, FlowProgram& program)
      : roles_(roles), program_(program) {}

  /// The results of the block become `wanted`.
  void make(const FlowBlock& block, const std::vector<FlowTensorNumber>& wanted) {
    for (const FlowStep& step : block.steps) {
      if (const auto* run = std::get_if<FlowRun>(&step.what)) make(*run);
      if (const auto* branch = std::get_if<FlowBranch>(&step.what)) make(*branch);
      if (const auto* loop = std::get_if<FlowLoop>(&step.what)) make(*loop);
    }
    for (std::size_t k = 0; k < wanted.size(); ++k)
      if (name(wanted[k]) != name(block.results[k])) copy(wanted[k], block.results[k]);
  }

 private:
  FlowTensorNumber name(FlowTensorNumber tensor) const { return roles_.name(tensor); }

  InstructionNumber here() const {
    return static_cast<InstructionNumber>(program_.instructions.size());
  }

  /// Adds an instruction; its number.
  InstructionNumber add(FlowAction action, FlowTensorNumber to = no_tensor,
                        FlowTensorNumber from = no_tensor, std::uint32_t counter = 0) {
    FlowInstruction added;
    added.action = action;
    added.to = name(to);
    added.from = name(from);
    added.counter = counter;
    program_.instructions.push_back(std::move(added));
    return here() - 1;
  }

  FlowInstruction& at(InstructionNumber number) { return program_.instructions[number]; }

  void copy(FlowTensorNumber to, FlowTensorNumber from) { add(FlowAction::copy, to, from); }

  std::uint32_t new_counter(const std::string& of) {
    program_.counters.push_back({of});
    return static_cast<std::uint32_t>(program_.counters.size() - 1);
  }

  void make(const FlowRun& run) {
    FlowInstruction& added = at(add(FlowAction::run));
    added.segment = run.segment;
    for (const auto* tensors : {&run.inputs, &run.outputs})
      for (const FlowTensorNumber tensor : *tensors) added.arguments.push_back(name(tensor));
  }

  void make(const FlowBranch& branch) {
    const std::uint32_t flag = new_counter(branch.name);
    add(FlowAction::test, no_tensor, branch.condition, flag);
    const InstructionNumber to_else = add(FlowAction::jump_unless, no_tensor, no_tensor, flag);
    make(branch.then_block, branch.results);
    const InstructionNumber to_end = add(FlowAction::jump);
    at(to_else).target = here();
    make(branch.else_block, branch.results);
    at(to_end).target = here();
  }

  void make(const FlowLoop& loop) {
    const std::uint32_t counter = new_counter(loop.name);
    for (const FlowLoop::State& state : loop.states) copy(state.current, state.initial);
    for (const FlowLoop::Rows& rows : loop.made)
      at(add(FlowAction::open_rows, rows.whole, no_tensor, counter)).rows = rows.layout;
    at(add(FlowAction::begin_count, no_tensor, loop.count, counter)).number =
        loop.most_steps.value_or(no_limit);
    std::vector<InstructionNumber> ends;
    if (loop.condition != no_tensor) {
      add(FlowAction::test, no_tensor, loop.condition, counter);
      ends.push_back(add(FlowAction::jump_unless, no_tensor, no_tensor, counter));
    }
    const InstructionNumber head = here();
    if (loop.most_steps || loop.count != no_tensor)
      ends.push_back(add(FlowAction::jump_if_done, no_tensor, no_tensor, counter));
    if (loop.room)
      at(add(FlowAction::require_room, no_tensor, no_tensor, counter)).number = *loop.room;
    if (loop.number != no_tensor) add(FlowAction::write_count, loop.number, no_tensor, counter);
    for (const FlowLoop::Rows& rows : loop.read)
      at(add(FlowAction::read_row, rows.row, rows.whole, counter)).rows = rows.layout;
    make(loop.body, {});
    end_step(loop, counter);
    const FlowAction back =
        loop.next_condition == no_tensor ? FlowAction::jump : FlowAction::jump_if;
    at(add(back, no_tensor, no_tensor, counter)).target = head;
    for (const InstructionNumber end : ends) at(end).target = here();
    leave(loop, counter);
  }

  /// The next states take the place of the current ones, all at the same time.
  void end_step(const FlowLoop& loop, std::uint32_t counter) {
    for (const FlowLoop::Rows& rows : loop.made)
      at(add(FlowAction::write_row, rows.whole, rows.row, counter)).rows = rows.layout;
    if (loop.next_condition != no_tensor)
      add(FlowAction::test, no_tensor, loop.next_condition, counter);
    for (std::size_t k = 0; k < loop.states.size(); ++k) {
      const FlowTensorNumber second = roles_.seconds[loop.states[k].current];
      if (second != no_tensor && second != loop.body.results[k]) copy(second, loop.body.results[k]);
    }
    for (const FlowLoop::State& state : loop.states)
      if (const FlowTensorNumber second = roles_.seconds[state.current]; second != no_tensor) {
        add(FlowAction::exchange, state.current, second);
        program_.counters[counter].states.push_back(name(state.current));
      }
    add(FlowAction::advance, no_tensor, no_tensor, counter);
  }

  void leave(const FlowLoop& loop, std::uint32_t counter) {
    for (const FlowLoop::Rows& rows : loop.made)
      at(add(FlowAction::close_rows, rows.whole, no_tensor, counter)).rows = rows.layout;
    for (const FlowLoop::State& state : loop.states) {
      copy(state.final, state.current);
      if (const FlowTensorNumber second = roles_.seconds[state.current]; second != no_tensor)
        add(FlowAction::reset, state.current, second);
    }
  }

  const FlowRoles& roles_;
  FlowProgram& program_;
};

}  // namespace

FlowProgram make_flow_program(FlowBlocks blocks, std::vector<TaskProgram> segments) {
  const FlowRoles roles = find_roles(blocks);
  FlowProgram program;
  program.segments = std::move(segments);
  program.tensors = blocks.tensors;
  program.inputs = blocks.inputs;
  program.outputs = blocks.outputs;
  const auto set_memory = [&program](const std::vector<FlowTensorNumber>& tensors, Memory memory) {
    for (std::uint32_t i = 0; i < tensors.size(); ++i) {
      program.tensors[tensors[i]].memory = memory;
      program.tensors[tensors[i]].position = i;
    }
  };
  set_memory(program.inputs, Memory::input);
  set_memory(program.outputs, Memory::output);
  plan_flow_memory(blocks, roles, program);
  InstructionMaker(roles, program).make(blocks.root, blocks.outputs);
  return program;
}

}  // namespace lemma::backend
