#pragma once
// Where buffers lie: a static arena, whose parts several buffers share, and the weights.

#include "backend/program.h"

namespace lemma::backend {

/// Two buffers share memory only if all tasks that use one have ended, by the order of the schedule, before the
/// first task that writes the other begins. Where that takes much more memory than is in use at one moment as planned,
/// waits are added, so that more buffers share memory, if the program then takes at most a thousandth longer as planned.
/// Places are those of pack.h. Of a program that has a limit of memory, waits are added however long it takes then, as long
/// as the arena does not fit.
void plan_memory(TaskProgram& program);

/// Weights of several programs in one block, those of equal contents at the same place. The programs' weights are that
/// block then.
void share_weights(std::span<TaskProgram> programs);

/// The bytes of all buffers of the arena, if none shared memory.
std::uint64_t unshared_bytes(const TaskProgram& program);

/// The most bytes of the arena that hold something at one moment as planned: from the beginning of the first task that
/// writes a buffer to the end of the last that uses it. Buffers count in whole units of alignment.
std::uint64_t largest_live_bytes(const TaskProgram& program);

/// What a buffer takes in the arena or among the weights.
std::uint64_t aligned_bytes(const Buffer& buffer);

}  // namespace lemma::backend
