#pragma once
// From computations to operators of a task program: phase programs, and several ways to cut results into tasks.

#include "backend/kernel_times.h"
#include "backend/lower/computation.h"

namespace lemma::backend {

/// Each operator has a kernel of one task, and kernels of about 2, 4, 8, ... tasks as far as there is work for
/// them; where the number of units is no power of two, also kernels of about once to four times as many tasks as there
/// are units. Cuts are along the first axes, so that parts lie together in memory, unless others take clearly less time.
/// Parts along the last axis are whole cache lines. Times are those of `times`, if it is given and has them, else
/// modelled. Operators of one kind have the same memory behind their arguments.
Result<OperatorGraph> tile(ComputationGraph graph, const VirtualDevice& device,
                           const KernelTimes* times = nullptr);

/// What a task of the operator reads and writes, from the accesses of its nests by interval arithmetic: the box of
/// indices for each read, and all of an axis where nothing is known of its index.
TaskAccess access_of(const TaskOperator& op, const Kernel& kernel, std::int64_t task);

/// Whether a read takes, for each point of the grid (the first axes of the nest), only elements of the tensor that
/// belong to the same point: those from `elements_per_point` times the point's number on.
bool stays_at_point(const lowering::LoweredOutput& nest, const lowering::Term& read,
                    std::size_t grid_axes, std::int64_t elements_per_point);

/// Operations on elements that the whole result takes.
double operation_count(const lowering::LoweredOutput& nest);
/// The same of all phases, or of the kernel of its own.
double operation_count(const TaskOperator& op);

}  // namespace lemma::backend
