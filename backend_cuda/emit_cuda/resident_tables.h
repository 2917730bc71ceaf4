#pragma once
// The weights that blocks keep in shared memory, as constant tables for parts/run_time.cuh.in.

#include <string>

#include "backend/program.h"

namespace lemma::backend {

/// `resident_parts` and `first_part` by block, `resident_reads` and `first_read` by step.
std::string residents_text(const TaskProgram& program);

}  // namespace lemma::backend
