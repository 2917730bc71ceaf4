#pragma once
// Which operators are the same but for their buffers. A recurrent network has thousands of operators of a few kinds:
// what is derived from their bodies is derived once for each.

#include <string>

#include "backend/program.h"

namespace lemma::backend {

/// All that kernels, times and accesses of an operator depend on, but which buffers its arguments are.
/// `grid`: of an operator with several phases.
std::string structure_of(const TaskOperator& op, const std::vector<std::int64_t>& grid,
                         const std::vector<Buffer>& buffers);

/// The digest of that structure, as TaskOperator has it.
std::string digest_of(const TaskOperator& op, const std::vector<std::int64_t>& grid,
                      const std::vector<Buffer>& buffers);

}  // namespace lemma::backend
