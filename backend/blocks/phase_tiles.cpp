#include "backend/blocks/phase_tiles.h"

#include "backend/blocks/attention.h"

#include <algorithm>

#include "backend/blocks/shared_terms.h"

namespace lemma::backend {

SlotLayout slot_layout(const TaskOperator& op, const Kernel& kernel) {
  constexpr std::uint64_t slot_alignment = 16;
  SlotLayout layout;
  for (const auto& [slot, bytes] : slot_bytes(op, kernel)) {
    layout.offsets[slot] = layout.bytes;
    layout.bytes += (bytes + slot_alignment - 1) / slot_alignment * slot_alignment;
  }
  return layout;
}

std::uint64_t slots_of_block(const TaskOperator& op, const Kernel& kernel, std::int64_t warps) {
  const std::int64_t copies = op.body.stitching == Stitching::warp ? warps : 1;
  return static_cast<std::uint64_t>(copies) * slot_layout(op, kernel).bytes;
}

ProductLimits product_limits(const Multiprocessor& unit, std::uint64_t shared_bytes) {
  // Four schedulers begin an instruction of 32 lanes in each cycle.
  constexpr double places = 128, lanes = 32, terms_of_matrix_product = 16 * 8 * 16;
  ProductLimits limits;
  limits.tiles.block_threads = unit.source.block_threads;
  limits.tiles.warp_lanes = unit.source.warp_lanes();
  limits.tiles.blocks = unit.source.blocks;
  limits.tiles.shared_bytes = shared_bytes;
  limits.tiles.refused = unit.source.refused_tiles;
  limits.refused_tiles_of = unit.source.refused_tiles_of;
  limits.tiles.multiply_add = places / unit.f32_lanes;
  limits.tiles.matrix_product = places / lanes * terms_of_matrix_product / unit.matrix_lanes;
  limits.has_matrix_units = unit.source.has_matrix_units();
  limits.takes_tf32 = limits.has_matrix_units && unit.source.takes_tf32;
  return limits;
}

bool is_in_block(const TaskOperator& op, std::uint32_t operand,
                 const std::set<std::uint32_t>& residents) {
  return operand != no_argument && (operand >= op.arguments.size() || residents.contains(operand));
}

std::vector<bool> inputs_in_block(const TaskOperator& op, const Phase& phase,
                                  const std::set<std::uint32_t>& residents) {
  std::vector<bool> result;
  for (const std::uint32_t operand : phase.operands)
    result.push_back(is_in_block(op, operand, residents));
  return result;
}

std::vector<std::int64_t> parts_of(const Kernel& kernel, const lowering::LoweredOutput& nest) {
  std::vector<std::int64_t> result;
  for (std::size_t axis = 0; axis < nest.axes.size(); ++axis)
    result.push_back(axis < kernel.parts.size() ? kernel.parts[axis]
                                                : nest.graph.extent(nest.axes[axis]));
  return result;
}

std::optional<TiledProduct> tiled_phase(const TaskOperator& op, const Kernel& kernel,
                                        const Phase& phase, const ProductLimits& limits) {
  ProductLimits of_phase = limits;
  for (const auto& [digest, tiles] : limits.refused_tiles_of)
    if (digest == op.digest) of_phase.tiles.refused.insert(tiles);
  const std::vector<std::int64_t> parts = parts_of(kernel, phase.nest);
  if (!op.is_stitched()) return find_tiled_product(phase.nest, parts, of_phase);
  if (op.body.stitching == Stitching::warp) return std::nullopt;
  const std::uint64_t slots = slot_layout(op, kernel).bytes;
  if (slots >= limits.tiles.shared_bytes) return std::nullopt;
  of_phase.tiles.shared_bytes -= slots;
  of_phase.is_in_block = inputs_in_block(op, phase);
  return find_tiled_product(phase.nest, parts, of_phase);
}

BlockMemory block_memory(const TaskOperator& op, const Kernel& kernel,
                         const ProductLimits& limits) {
  BlockMemory memory;
  if (const auto attention = find_attention(op, kernel.parts, limits))
    return {0, attention->shared_bytes};
  memory.slots = slots_of_block(op, kernel, limits.tiles.warps());
  for (const Phase& phase : op.body.phases)
    if (const auto product = tiled_phase(op, kernel, phase, limits))
      memory.tiles = std::max(memory.tiles, product->tiles.shared_bytes);
  return memory;
}

}  // namespace lemma::backend
