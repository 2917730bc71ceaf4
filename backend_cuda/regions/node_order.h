#pragma once
// What comes after what among the nodes of a region program.

#include <vector>

#include "backend_cuda/regions/region_program.h"

namespace lemma::backend {

/// Whether of two nodes the second has ended before the first begins. Nodes are listed behind those that they come
/// after.
std::vector<std::vector<bool>> nodes_before(const std::vector<RegionNode>& nodes);

/// Removes from the order what follows from the rest.
void reduce_order(std::vector<RegionNode>& nodes);

}  // namespace lemma::backend
