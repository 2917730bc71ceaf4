#pragma once
// One arena and one block of weights for a region program.

#include "backend_cuda/regions/region_program.h"

namespace lemma::backend {

/// Gives every buffer its place, moves those of task programs there, and gives calls their workspaces. Two buffers share
/// memory only if all nodes that use the one have ended before the node that makes the other begins.
Result<void> place_regions(RegionProgram& program);

}  // namespace lemma::backend
