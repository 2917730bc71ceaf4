#pragma once
// Where buffers lie: a static arena, whose parts several buffers share, and the weights.

#include "backend_cuda/program.h"

namespace lemma::backend {

/// Two buffers share memory only if all tasks that use one have ended, by the order of the schedule, before the
/// first task that writes the other begins. The largest buffers are placed first, each at the lowest place that is
/// free (Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020).
void plan_memory(TaskProgram& program);

/// The bytes of all buffers of the arena, if none shared memory.
std::uint64_t unshared_bytes(const TaskProgram& program);

}  // namespace lemma::backend
