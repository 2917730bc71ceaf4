#pragma once
// A program for a machine of tiles: units that have memory of their own and no other. It runs in supersteps, of which each is
// an exchange, in which tiles copy from each other, and then tasks, which each read and write the memory of their own tile
// alone (Valiant, "A bridging model for parallel computation", 1990).

#include "backend/program.h"

namespace lemma::backend {

using BlockNumber = std::uint32_t;

/// Elements first, first + 1, ..., end - 1 of a buffer.
struct ElementRun {
  std::int64_t first = 0, end = 0;
  friend bool operator==(const ElementRun&, const ElementRun&) = default;
};

/// Elements of a buffer in the memory of a tile: its runs, ascending, one after the other.
struct TileBlock {
  UnitNumber tile = 0;
  BufferNumber buffer = 0;
  std::uint64_t offset = 0;  // in bytes
  std::vector<ElementRun> runs;

  std::int64_t elements() const;
};

/// A copy of elements from the block of one tile to that of another.
struct TileTransfer {
  BlockNumber from = 0, to = 0;
  ElementRun run;
};

struct TileTask {
  Task task;
  UnitNumber tile = 0;
  std::vector<BlockNumber> reads, writes;  // blocks of the tile
};

struct Superstep {
  std::vector<TileTransfer> transfers;
  std::vector<TileTask> tasks;  // those of a tile run in this order
};

struct TileProgram {
  OperatorGraph graph;
  VirtualDevice device;
  std::vector<std::uint32_t> chosen_kernels;      // by operator
  std::vector<std::vector<TaskAccess>> accesses;  // by operator and task
  std::vector<TileBlock> blocks;
  std::vector<BlockNumber> loaded;  // inputs and weights, which are there when a run begins
  std::vector<Superstep> steps;
  std::vector<std::uint64_t> tile_bytes;  // by tile: of its memory, up to the end of its last block

  const Kernel& kernel(OperatorNumber op) const {
    return graph.operators[op].kernels[chosen_kernels[op]];
  }
  std::size_t task_count() const;
};

/// What a program takes by the costs of its device: nothing is run.
struct TileTimes {
  double seconds = 0;
  double exchange_seconds = 0, computing_seconds = 0;  // its parts, without the launch
  double busy_seconds = 0;                             // of all tiles together: within tasks
  std::uint64_t exchanged_bytes = 0;                   // that tiles receive
};
/// Each exchange takes as long as the tile that receives or sends most. What several tiles receive is sent once.
TileTimes simulate(const TileProgram& program);

}  // namespace lemma::backend
