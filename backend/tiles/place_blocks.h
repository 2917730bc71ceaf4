#pragma once
// Places for the blocks of a program in the memory of their tiles.

#include <cstdint>
#include <vector>

#include "backend/tile_program.h"

namespace lemma::backend {

/// When a block is in use: exchanges have even numbers, the tasks of their supersteps the next odd ones.
struct BlockLife {
  std::uint32_t begin = 0, end = 0;  // both are in it
};

/// Sets offsets so that blocks of a tile overlap only where their lives do not, and the bytes of each tile.
Result<void> place_blocks(TileProgram& program, const std::vector<BlockLife>& lives);

}  // namespace lemma::backend
