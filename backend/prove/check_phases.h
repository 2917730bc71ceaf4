#pragma once
// The phases of an operator, and what they read of each other's results.

#include "backend/program.h"

namespace lemma::backend {

/// A phase reads operands and what earlier phases wrote, each result is written by one phase, and no shared buffer
/// is read after another one has taken its memory.
Result<void> check_phases(const TaskOperator& op);

/// Phases of a task write their parts of the grid, and read from earlier ones only what the same task wrote: in the
/// block scheme, at any of its points; in the warp scheme, at the same point. Relies on check_phases.
Result<void> check_phase_accesses(const TaskOperator& op, const Kernel& kernel,
                                  const std::vector<Buffer>& buffers, std::int64_t task,
                                  const TaskAccess& access);

std::int64_t element_count(const Region& region);

}  // namespace lemma::backend
