#pragma once
// Weights that units keep: where they lie, and that tasks find there what they read.

#include "backend/program.h"

namespace lemma::backend {

/// Parts are copied from weights alone, whole words to places that no other part and no task takes, within the memory of a
/// unit. Each element that a task reads of an argument lies where its kernel reads it, and is the element of the buffer
/// that has been copied there. Relies on regions that lie inside their buffers.
Result<void> check_residents(const TaskProgram& program);

}  // namespace lemma::backend
