#pragma once
// Places of tensors and segments in the arena of a program with control flow.

#include "backend/flow/flow_blocks.h"
#include "backend/flow/flow_roles.h"

namespace lemma::backend {

/// Sets the places of tensors and segments, and the bytes of the arena. What a block needs is one piece of the memory of the
/// block around it, in use while its step runs: of two branches, the larger one counts. A tensor is in use from the step
/// that makes it to the last one that reads it; what a loop hands from step to step, as long as the loop runs.
void plan_flow_memory(const FlowBlocks& blocks, const FlowRoles& roles, FlowProgram& program);

}  // namespace lemma::backend
