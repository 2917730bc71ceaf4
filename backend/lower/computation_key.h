#pragma once
// What a computation is for a loop schedule: its definition with all sizes and types, and which operands are weights.

#include <string>

#include "backend/lower/computation.h"

namespace lemma::backend {

/// A digest of 20 hexadecimal digits: equal for computations that differ in buffers and names only. Of computations as they are
/// lowered, before passes change them.
std::string computation_key(const Computation& computation, const std::vector<Buffer>& buffers);

/// Each computation has the schedule of its key, or none.
ComputationGraph take_schedules(ComputationGraph graph, const LoopSchedules& schedules);

}  // namespace lemma::backend
