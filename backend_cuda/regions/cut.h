#pragma once
// From the calls that are chosen to a region program.

#include "backend_cuda/regions/items.h"
#include "backend_cuda/regions/region_program.h"

namespace lemma::backend {

/// Computations between the calls become as few task programs as the order allows: one before the first calls, one behind
/// them, and so on. `device`: what copies and launches are priced by. Not proved yet (check_regions.h), but for the task programs.
Result<RegionProgram> cut(const ComputationGraph& graph, std::vector<CallCandidate> calls,
                          const CompileOptions& options, const Device& device);

}  // namespace lemma::backend
