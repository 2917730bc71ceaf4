#pragma once
// Runs a program with control flow: schedules, and between them instructions that copy, count and decide.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "run_time.h"

namespace {

enum class Action : std::uint32_t {
  run,
  copy,
  exchange,
  reset,
  test,
  jump,
  jump_if,
  jump_unless,
  begin_count,
  jump_if_done,
  advance,
  require_room,
  write_count,
  read_row,
  open_rows,
  write_row,
  close_rows,
};

/// Of tensors, counters and instructions by number. `extra`: the first argument of a schedule, or the layout of rows.
struct Instruction {
  Action action;
  std::uint32_t to, from, counter, target, extra;
  std::int64_t number;
};

/// A row has so many parts of so many bytes.
struct RowLayout {
  std::uint64_t outer, bytes, count;
  bool is_reversed;
};

/// Where a tensor is at first, and its bytes.
struct FlowTensor {
  Location place;
  std::uint64_t bytes;
};

/// A schedule: where its part of the arena begins, and how many tensors it takes and gives.
struct Segment {
  std::uint64_t arena_offset;
  std::uint32_t argument_count;
};

constexpr std::uint32_t no_tensor = 0xffffffffU;

struct Flow {
  const Instruction* instructions;
  std::size_t instruction_count;
  const FlowTensor* tensors;
  std::size_t tensor_count;
  const Segment* segments;
  const std::uint32_t* arguments;
  const RowLayout* rows;
  const char* const* refusals;  // by counter: what is said where it says no
  std::size_t counter_count;
};

/// The state of a run.
class FlowRun {
 public:
  FlowRun(const Flow& flow, Machine& machine, void* const* memories)
      : flow_(flow), machine_(machine), memories_(memories), counters_(flow.counter_count) {
    for (std::size_t i = 0; i < flow.tensor_count; ++i)
      pointers_.push_back(first_place(static_cast<std::uint32_t>(i)));
  }

  /// Null, or what is wrong. `rows`: how many of each output there are, where the run decides.
  const char* run(std::uint64_t* rows) {
    for (std::size_t at = 0; at < flow_.instruction_count;) {
      const Instruction& step = flow_.instructions[at++];
      Counter& counter = counters_[step.counter];
      switch (step.action) {
        case Action::run: run_schedule(step); break;
        case Action::copy: copy(step.to, step.from); break;
        case Action::exchange: std::swap(pointers_[step.to], pointers_[step.from]); break;
        case Action::reset:
          pointers_[step.to] = first_place(step.to);
          pointers_[step.from] = first_place(step.from);
          break;
        case Action::test: counter.flag = *pointers_[step.from] != std::byte{0}; break;
        case Action::jump: at = step.target; break;
        case Action::jump_if: at = counter.flag ? step.target : at; break;
        case Action::jump_unless: at = counter.flag ? at : step.target; break;
        case Action::begin_count: begin_count(step, counter); break;
        case Action::jump_if_done: at = counter.value >= counter.limit ? step.target : at; break;
        case Action::advance: ++counter.value; break;
        case Action::require_room:
          if (counter.value >= step.number) return flow_.refusals[step.counter];
          break;
        case Action::write_count:
          std::memcpy(pointers_[step.to], &counter.value, sizeof(counter.value));
          break;
        case Action::read_row: read_row(step, counter); break;
        case Action::open_rows: break;
        case Action::write_row: write_row(step, counter); break;
        case Action::close_rows:
          if (step.number >= 0)
            rows[step.number] = static_cast<std::uint64_t>(counter.value);
          else if (static_cast<std::uint64_t>(counter.value) != flow_.rows[step.extra].count)
            return flow_.refusals[step.counter];
          break;
      }
    }
    return nullptr;
  }

 private:
  struct Counter {
    std::int64_t value = 0, limit = 0;
    bool flag = false;
  };

  std::byte* first_place(std::uint32_t tensor) const {
    const Location& place = flow_.tensors[tensor].place;
    return static_cast<std::byte*>(memories_[place.memory]) + place.offset;
  }

  void run_schedule(const Instruction& step) {
    const Segment& segment = flow_.segments[step.number];
    given_.assign({static_cast<std::byte*>(memories_[0]) + segment.arena_offset, memories_[1]});
    for (std::uint32_t i = 0; i < segment.argument_count; ++i)
      given_.push_back(pointers_[flow_.arguments[step.extra + i]]);
    machine_.run(static_cast<std::size_t>(step.number), given_.data());
  }

  void copy(std::uint32_t to, std::uint32_t from) {
    if (flow_.tensors[to].bytes > 0)
      std::memcpy(pointers_[to], pointers_[from], flow_.tensors[to].bytes);
  }

  void begin_count(const Instruction& step, Counter& counter) const {
    counter.value = 0;
    counter.limit = step.number;
    if (step.from != no_tensor)
      std::memcpy(&counter.limit, pointers_[step.from], sizeof(counter.limit));
  }

  static std::uint64_t row_of(const RowLayout& rows, const Counter& counter) {
    const auto value = static_cast<std::uint64_t>(counter.value);
    return rows.is_reversed ? rows.count - 1 - value : value;
  }

  void read_row(const Instruction& step, const Counter& counter) {
    const RowLayout& rows = flow_.rows[step.extra];
    const std::byte* from = pointers_[step.from] + row_of(rows, counter) * rows.bytes;
    for (std::uint64_t i = 0; i < rows.outer && rows.bytes > 0; ++i)
      std::memcpy(pointers_[step.to] + i * rows.bytes, from + i * rows.count * rows.bytes,
                  rows.bytes);
  }

  void write_row(const Instruction& step, const Counter& counter) {
    const RowLayout& rows = flow_.rows[step.extra];
    std::byte* to = pointers_[step.to] + row_of(rows, counter) * rows.bytes;
    for (std::uint64_t i = 0; i < rows.outer && rows.bytes > 0; ++i)
      std::memcpy(to + i * rows.count * rows.bytes, pointers_[step.from] + i * rows.bytes,
                  rows.bytes);
  }

  const Flow& flow_;
  Machine& machine_;
  void* const* const memories_;
  std::vector<Counter> counters_;
  std::vector<std::byte*> pointers_;  // by tensor
  std::vector<void*> given_;          // to a schedule
};

}  // namespace
