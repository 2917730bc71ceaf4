#pragma once
// The shared memory of a block: what phases hand to each other, and the tiles of products. Source and planned times are made
// from the same decisions.

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "backend/blocks/tiled_product.h"
#include "backend/program.h"

namespace lemma::backend {

/// The places of an operator's slots, one after the other, in bytes from where those of the block (Stitching::block) or
/// of the warp begin.
struct SlotLayout {
  std::map<std::uint32_t, std::uint64_t> offsets;  // by slot
  std::uint64_t bytes = 0;
};
SlotLayout slot_layout(const TaskOperator& op, const Kernel& kernel);

/// Slots of an operator, in bytes: those of a block, or of all its warps, of which it has so many.
std::uint64_t slots_of_block(const TaskOperator& op, const Kernel& kernel, std::int64_t warps);

/// What the largest task of a kernel takes of the memory of its block for itself, in bytes.
struct BlockMemory {
  std::uint64_t slots = 0, tiles = 0;  // tiles lie behind the slots
};
BlockMemory block_memory(const TaskOperator& op, const Kernel& kernel, const ProductLimits& limits);

/// The limits of products in the source for a multiprocessor. `shared_bytes`: those of a block, for
/// slots and tiles.
ProductLimits product_limits(const Multiprocessor& unit, std::uint64_t shared_bytes);

/// Whether an operand of a phase is in the memory of the block: in a slot, or an argument that the block keeps (`residents`).
bool is_in_block(const TaskOperator& op, std::uint32_t operand,
                 const std::set<std::uint32_t>& residents = {});
/// The same of all inputs of a phase.
std::vector<bool> inputs_in_block(const TaskOperator& op, const Phase& phase,
                                  const std::set<std::uint32_t>& residents = {});

/// The most elements that a task has along each axis of a phase.
std::vector<std::int64_t> parts_of(const Kernel& kernel, const lowering::LoweredOutput& nest);

/// The product of a phase that a block computes in tiles, behind the slots; nothing where it has none, where points are the
/// work of a warp, and where slots or tiles have no room.
std::optional<TiledProduct> tiled_phase(const TaskOperator& op, const Kernel& kernel,
                                        const Phase& phase, const ProductLimits& limits);

}  // namespace lemma::backend
