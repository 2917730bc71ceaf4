#pragma once
// Control flow as it is nested in a model: blocks of segments, branches and loops. What make_flow_program() makes
// instructions of.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "backend/flow_program.h"

namespace lemma::backend {

struct FlowStep;

/// Steps one after the other. They see all tensors of the blocks around them.
struct FlowBlock {
  std::vector<FlowStep> steps;
  std::vector<FlowTensorNumber> results;
};

struct FlowRun {
  std::uint32_t segment = 0;
  std::vector<FlowTensorNumber> inputs, outputs;
};

struct FlowBranch {
  std::string name;  // for people
  FlowTensorNumber condition = no_tensor;
  FlowBlock then_block, else_block;
  std::vector<FlowTensorNumber> results;
};

/// A loop. It ends after so many steps, or after the step behind which its condition is false.
struct FlowLoop {
  /// What a step hands to the next one.
  struct State {
    FlowTensorNumber initial = no_tensor;  // before the loop
    FlowTensorNumber current = no_tensor;  // what a step takes
    FlowTensorNumber final =
        no_tensor;  // what there is behind the loop; the body's results have the next one
  };
  /// A tensor that is read or made row by row, a row in each step.
  struct Rows {
    FlowTensorNumber whole = no_tensor, row = no_tensor;
    RowLayout layout;
  };

  std::string name;                        // for people
  std::optional<std::int64_t> most_steps;  // where it is known
  FlowTensorNumber count = no_tensor;      // where a tensor has it
  FlowTensorNumber condition = no_tensor;  // before the first step; without one it is true
  FlowTensorNumber number = no_tensor;     // of the step, if it wants to know
  std::vector<State> states;
  std::vector<Rows> read;
  FlowBlock body;                               // its results: the next states, then the rows
  FlowTensorNumber next_condition = no_tensor;  // that a step gives; without one it is true
  std::vector<Rows> made;
  std::optional<std::int64_t>
      room;  // the rows that there is room for, where a run decides how many there are
};

struct FlowStep {
  std::variant<FlowRun, FlowBranch, FlowLoop> what;
};

struct FlowBlocks {
  std::vector<FlowTensor> tensors;  // without places
  std::vector<FlowTensorNumber> inputs,
      outputs;     // of the program; those of outputs are made by nothing
  FlowBlock root;  // its results become the outputs
};

}  // namespace lemma::backend
