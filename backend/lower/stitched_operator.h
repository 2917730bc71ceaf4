#pragma once
// A group of computations as one operator, of several phases if there are several.

#include "backend/lower/computation.h"

namespace lemma::backend {

/// The groups of a graph; if it has none, each computation by itself.
std::vector<Group> groups_of(const ComputationGraph& graph);

/// Whether each buffer lies in memory. The others are made and read by one group only.
std::vector<bool> stored_buffers(const ComputationGraph& graph, const std::vector<Group>& groups);

/// The operator of one phase. The arguments are the buffers that the nest reads, each once, and the
/// result.
Result<TaskOperator> operator_of(Computation computation);

/// Phases in the order of the members. Buffers that are not stored become shared buffers, which use the same memory
/// one after the other. `grid`: its extents are put there. Errors: the members have no common grid.
Result<TaskOperator> stitched_operator(const ComputationGraph& graph, const Group& group,
                                       const std::vector<bool>& is_stored,
                                       std::vector<std::int64_t>& grid);

/// About so many tasks, each of neighbouring points.
Kernel stitched_kernel(const std::vector<std::int64_t>& grid, std::int64_t tasks);

/// The shared memory that a task needs.
std::uint64_t shared_bytes(const TaskOperator& op, const Kernel& kernel);

/// Removes buffers, and gives new numbers to the others.
void remove_unstored(ComputationGraph& graph, const std::vector<bool>& is_stored,
                     std::vector<TaskOperator>& operators);

}  // namespace lemma::backend
