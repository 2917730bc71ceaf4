#pragma once
// A program with control flow: task programs, its segments, and a list of instructions that runs them, copies what is
// handed on, evaluates conditions and counts steps.
//
// A tensor has a place: a part of the arena, or an input or output of the caller. Instructions may change which place a
// tensor has, so that what a step of a loop gives becomes what the next step takes without a copy. A segment has a part
// of the same arena for what it computes in between; what lies there is lost when it runs.

#include <cstdint>
#include <string>
#include <vector>

#include "backend/program.h"

namespace lemma::backend {

using FlowTensorNumber = std::uint32_t;
using InstructionNumber = std::uint32_t;

/// What is handed between segments. Sizes are known; the first one may be a bound (`has_free_rows`).
struct FlowTensor {
  std::string name;
  DataType type = DataType::undefined;
  lowering::Sizes sizes;
  /// Where it is at first: in the arena, an input or an output.
  Memory memory = Memory::arena;
  std::uint64_t offset = 0;    // in bytes, in the arena
  std::uint32_t position = 0;  // of an input or output, among those of the program
  /// A run decides how many of its first elements along the first axis there are: as many as a loop takes steps.
  bool has_free_rows = false;

  std::int64_t elements() const;
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(elements()) * byte_size(type); }
};

enum class FlowAction : std::uint8_t {
  run,       // the segment; `arguments` are its inputs, then its outputs
  copy,      // `to` becomes what `from` is
  exchange,  // `to` and `from` change places; `to` is what `from` was, which is nothing then
  reset,  // `to` and `from`, which may have changed places, are at their first places again, and nothing
  test,         // the flag of the counter becomes `from`, one boolean
  jump,         // to `target`
  jump_if,      // to `target`, where the flag is true
  jump_unless,  // to `target`, where it is false
  begin_count,  // the counter becomes 0; its limit is `from`, one i64, or `number` where there is no tensor
  jump_if_done,  // to `target`, where the counter has come to its limit
  advance,       // the counter grows by 1
  require_room,  // an error where the counter is `number` or more
  write_count,   // `to`, one i64, becomes the counter
  read_row,      // `to` becomes the row of `from` with the number of the counter
  open_rows,     // `to` is to be filled row by row
  write_row,     // the row of `to` with the number of the counter becomes `from`
  close_rows,  // `to` is filled: an error where the counter is not the number of its rows, unless these are free
};

inline constexpr FlowTensorNumber no_tensor = 0xffffffffU;

/// Rows of a tensor along an axis.
struct RowLayout {
  std::uint64_t outer = 1;  // how many parts a row has
  std::uint64_t bytes = 0;  // of each part
  std::uint64_t count = 0;  // rows
  bool is_reversed = false;
  friend bool operator==(const RowLayout&, const RowLayout&) = default;
};

struct FlowInstruction {
  FlowAction action = FlowAction::run;
  FlowTensorNumber to = no_tensor, from = no_tensor;
  std::uint32_t counter = 0;  // whose value, limit or flag it is
  InstructionNumber target = 0;
  std::int64_t number = 0;
  RowLayout rows = {};
  std::uint32_t segment = 0;
  std::vector<FlowTensorNumber> arguments = {};
};

/// Of a loop or a branch: a number of steps, its limit, and a flag.
struct FlowCounter {
  std::string name;                           // of the node, for people
  std::vector<FlowTensorNumber> states = {};  // that each step renews by an exchange
};

struct FlowProgram {
  std::vector<TaskProgram> segments;  // they share their weights
  std::vector<std::uint64_t>
      segment_places;  // where the arena of each begins in that of the program
  std::vector<FlowTensor> tensors;
  std::vector<FlowTensorNumber> inputs, outputs;  // of the program, in order
  std::vector<FlowInstruction> instructions;
  std::vector<FlowCounter> counters;
  std::uint64_t arena_bytes = 0;
  std::uint64_t unshared_bytes = 0;  // of tensors and segments, if none shared memory

  /// Whether a run decides how many rows some output has.
  bool has_free_rows() const;
};

/// A program without tasks that has the inputs and outputs, the arena and the weights of this one: for descriptions.
TaskProgram described_interface(const FlowProgram& program);

/// A line for each instruction, for people and tests.
std::string text(const FlowProgram& program);

}  // namespace lemma::backend
