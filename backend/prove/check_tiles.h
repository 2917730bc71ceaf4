#pragma once
// The proof of a program for a machine of tiles. Like check_program.h, it takes nothing from the planner but the program.
//
// It shows that
// - each task of each operator is run once;
// - blocks lie inside the memory of their tiles;
// - what an exchange copies is there before it, and lands where nothing else of that exchange is read or written;
// - a task touches the memory of its own tile alone, and each element that it reads is there: loaded before the run, written by
//   an earlier task of the tile, or received, and overwritten by nothing since then;
// - a task writes what it has to, to where it reads nothing;
// - all of the outputs is there at the end, and all that was loaded is there for the next run.

#include "backend/tile_program.h"

namespace lemma::backend {

/// The error, of kind `internal`, is the first violation.
Result<void> check_tiles(const TileProgram& program);

}  // namespace lemma::backend
