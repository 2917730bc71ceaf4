#pragma once
// The ways to cut an operator's result into tasks, and what a task takes.

#include "backend/kernel_times.h"

namespace lemma::backend {

/// Adds the kernels of an operator, from the fewest tasks to the most (see tile.h). `times` may be null.
/// `grid`: of an operator with several phases. A stitched operator whose cuts are all refused (CudaOptions) has none.
void add_kernels(TaskOperator& op, const std::vector<std::int64_t>& grid,
                 const std::vector<Buffer>& buffers, const VirtualDevice& device,
                 const KernelTimes* times);

}  // namespace lemma::backend
