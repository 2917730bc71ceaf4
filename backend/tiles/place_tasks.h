#pragma once
// Kernels of operators, and tiles for their tasks.

#include <vector>

#include "backend/tile_program.h"
#include "backend/tiles/plan_tiles.h"

namespace lemma::backend {

struct TilePlacement {
  std::vector<std::uint32_t> kernels;          // by operator
  std::vector<std::vector<UnitNumber>> tiles;  // by operator and task
};

/// Operators are in waves: each comes after those whose results it reads. Those of a wave share the tiles in proportion to
/// their work, and each takes the kernel that ends first on its share.
TilePlacement place_tasks(const OperatorGraph& graph, const VirtualDevice& device,
                          const TileOptions& options);

}  // namespace lemma::backend
