#pragma once
// From nested control flow to instructions and places.

#include <vector>

#include "backend/flow/flow_blocks.h"
#include "base/result.h"

namespace lemma::backend {

/// The program of these blocks and segments. What is handed on is written where it is wanted where that is possible: by a
/// branch to the tensor behind it, by the last step of a program to its output, and by a step of a loop to the second
/// place of a state, which is exchanged with the first one. Places share the arena where they are not in use at the same
/// time: branches are not, and neither are the segments' own parts of it.
FlowProgram make_flow_program(FlowBlocks blocks, std::vector<TaskProgram> segments);

}  // namespace lemma::backend
