#pragma once
// Programs for machines of tiles (backend/tile_program.h): which tile runs which task in which superstep, where tensors are, what
// is exchanged, and the memory of each tile.

#include "backend/tile_program.h"

namespace lemma::backend {

struct TileOptions {
  /// Operators that do not depend on each other share a superstep; otherwise each has all tiles for itself.
  bool shares_steps = true;
};

/// Operators that are not stitched, on a device whose units are tiles. An error, `unsupported`, says which tile would need more memory than it has, and how
/// much.
Result<TileProgram> plan_tiles(OperatorGraph graph, const VirtualDevice& device,
                               const TileOptions& options = {});

}  // namespace lemma::backend
