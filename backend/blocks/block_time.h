#pragma once
// What the threads of a block take for a task, by the source that is emitted for it: products in the tiles that the source has,
// other loops as they are spread over the threads. Analytic, from instructions (tile_choice.h) and bytes; docs/cuda.md names
// what is assumed.

#include <set>

#include "backend/blocks/phase_tiles.h"

namespace lemma::backend {

/// The time of one phase for all of a task's points.
struct PhaseTime {
  double cycles = 0;      // of the multiprocessor
  double tile_bytes = 0;  // that tiles bring from other memory than the block's
};

class BlockTime {
 public:
  using Arguments = std::set<std::uint32_t>;

  /// The device must be one of multiprocessors, and outlive this, as the operator must.
  BlockTime(const TaskOperator& op, const VirtualDevice& device);

  /// The time of the largest task of a kernel, phase by phase. Copies to tiles run beside the sums: what takes
  /// longer counts. `residents`: arguments that are in the memory of the block, of kernels without tiles.
  double seconds(const Kernel& kernel, const Arguments& residents = {}) const;

  BlockMemory memory(const Kernel& kernel) const { return block_memory(op_, kernel, limits_); }

  PhaseTime of_phase(const Kernel& kernel, const Phase& phase,
                     const Arguments& residents = {}) const;

 private:
  double warp_cycles(const Kernel& kernel, const Arguments& residents) const;

  const TaskOperator& op_;
  const VirtualDevice& device_;
  ProductLimits limits_;
};

}  // namespace lemma::backend
