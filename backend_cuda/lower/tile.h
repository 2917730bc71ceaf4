#pragma once
// From computations to operators of a task program: phase programs, and several ways to cut results into tasks.

#include "backend_cuda/lower/computation.h"

namespace lemma::backend {

/// Each operator has a kernel of one task, and kernels of about 2, 4, 8, ... tasks as far as there is work for
/// them. Parts along the last axis are whole cache lines.
Result<OperatorGraph> tile(ComputationGraph graph, const VirtualDevice& device);

/// What a task of the operator reads and writes, from the accesses of its nests by interval arithmetic: the box of
/// indices for each read, and all of an axis where nothing is known of its index.
TaskAccess access_of(const TaskOperator& op, const Kernel& kernel, std::int64_t task);

/// Whether a read takes, for each point of the grid (the first axes of the nest), only elements of the tensor that
/// belong to the same point: those from `elements_per_point` times the point's number on.
bool stays_at_point(const lowering::LoweredOutput& nest, const lowering::Term& read,
                    std::size_t grid_axes, std::int64_t elements_per_point);

/// Operations on elements that the whole result takes.
double operation_count(const lowering::LoweredOutput& nest);

}  // namespace lemma::backend
