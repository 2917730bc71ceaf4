#pragma once
// Where buffers lie: a static arena, whose parts several buffers share, and the weights.

#include "backend_cuda/program.h"

namespace lemma::backend {

/// Two buffers share memory only if all tasks that use one have ended, by the order of the schedule, before the
/// first task that writes the other begins. Each is placed at the lowest place that is free, the largest first (Pisarchyk
/// and Lee, "Efficient memory management for deep neural net inference", 2020) or in the order in which they are
/// written, whichever takes less memory.
void plan_memory(TaskProgram& program);

/// The bytes of all buffers of the arena, if none shared memory.
std::uint64_t unshared_bytes(const TaskProgram& program);

}  // namespace lemma::backend
