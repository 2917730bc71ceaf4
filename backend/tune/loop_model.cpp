#include "backend/tune/loop_model.h"

#include <algorithm>
#include <cmath>

#include "backend/emit/emit_block.h"
#include "backend/emit/parts/vectors.h"
#include "backend/emit/vector_reduction.h"
#include "backend/lower/tile.h"
#include "lowering/merge_axes.h"
#include "profiler/profile_database.h"

namespace lemma::backend {

namespace {

using lowering::LoopVariable;
using lowering::LoweredOutput;
using lowering::TermNumber;

constexpr double multiplications_in_a_cycle = 2, loads_in_a_cycle = 2, latency = 4;
constexpr double cycles_of_a_spill = 1, cycles_of_a_store = 2, cycles_of_a_block = 10;
constexpr double near_bytes = 1 << 19;  // of the second cache
constexpr double near_bytes_in_a_cycle = 32, far_bytes_in_a_cycle = 8;
constexpr double operations_in_a_cycle = 4;  // of what is not in vectors for sure

struct BlockSizes {
  std::int64_t lanes = 1, rows = 1, vectors = 1;
};

BlockSizes sizes_of(const ElementBlock& block, std::int64_t in_register, std::int64_t registers) {
  BlockSizes sizes;
  const LoopSchedule& schedule = block.schedule;
  if (!schedule.vectors)
    sizes.lanes = fitting(block.lane_extent, (block.has_rows() ? 2 : registers / 4) * in_register);
  else if (block.lane_extent < in_register)
    sizes.lanes = fitting(block.lane_extent, in_register);
  else
    sizes.lanes = std::min(*schedule.vectors, block.lane_extent / in_register) * in_register;
  sizes.vectors = (sizes.lanes + in_register - 1) / in_register;
  if (!block.has_rows()) return sizes;
  const std::int64_t most =
      block.has_channel_lanes() ? sums_of_panel(registers) : sums_of_block(registers);
  sizes.rows = even_parts(block.row_extent,
                          schedule.rows.value_or(std::max<std::int64_t>(1, most / sizes.vectors)));
  return sizes;
}

double blocks_along(std::int64_t extent, std::int64_t size) {
  return static_cast<double>((extent + size - 1) / size);
}

double bytes_of(const LoweredOutput& nest, TermNumber read) {
  const lowering::InputView& input = nest.graph.inputs()[nest.graph.term(read).input];
  double bytes = static_cast<double>(byte_size(input.type));
  for (const std::int64_t size : input.sizes) bytes *= static_cast<double>(size);
  return bytes;
}

/// A nest by blocks, in registers of `registers`.
class BlockModel {
 public:
  BlockModel(const LoweredOutput& nest, const ElementBlock& block, const VectorRegisters& registers)
      : nest_(nest), block_(block), registers_(registers.count) {
    const std::int64_t in_register =
        registers.bytes /
        static_cast<std::int64_t>(std::max<std::uint64_t>(4, byte_size(nest.type)));
    sizes_ = sizes_of(block, in_register, registers.count);
  }

  double cycles() const {
    double of_sums = 0;
    for (TermNumber id = 0; id < nest_.graph.size(); ++id)
      if (const auto reduction = find_vector_reduction(nest_, block_, id))
        of_sums += terms_of(id) * cycles_of_term(*reduction);
    const auto stores = static_cast<double>(sizes_.rows * sizes_.vectors);
    return blocks() * (of_sums + cycles_of_a_block + cycles_of_a_store * stores) + memory_cycles();
  }

 private:
  std::int64_t extent(std::size_t axis) const { return nest_.graph.extent(nest_.axes[axis]); }

  double blocks() const {
    double result = 1;
    for (std::size_t axis = 0; axis < nest_.axes.size(); ++axis)
      result *= axis == block_.lane_axis ? blocks_along(extent(axis), sizes_.lanes)
                : axis == block_.row_axis && block_.has_rows()
                    ? blocks_along(extent(axis), sizes_.rows)
                    : static_cast<double>(extent(axis));
    return result;
  }

  double terms_of(TermNumber id) const {
    double terms = 1;
    for (const LoopVariable v : nest_.graph.term(id).bound)
      terms *= static_cast<double>(nest_.graph.extent(v));
    return terms;
  }

  double cycles_of_term(const VectorReduction& reduction) const {
    const auto vectors = static_cast<double>(sizes_.vectors),
               rows = static_cast<double>(sizes_.rows);
    const bool is_shared =
        !block_.has_rows() || (nest_.graph.term(reduction.across).depends &
                               lowering::set_of(nest_.axes[block_.row_axis])) == 0;
    const double loads = (is_shared ? vectors : vectors * rows) * (reduction.step == 1 ? 1 : 2) +
                         (reduction.down ? rows : 0);
    const double spilled =
        std::max(0.0, vectors * rows + vectors + 1 - static_cast<double>(registers_));
    return std::max(
               {vectors * rows / multiplications_in_a_cycle, loads / loads_in_a_cycle, latency}) +
           spilled * cycles_of_a_spill;
  }

  /// What loops go through again: each operand of sums once for each turn of the loops around it that it does not depend on.
  double memory_cycles() const {
    double cycles = 0;
    for (TermNumber id = 0; id < nest_.graph.size(); ++id) {
      if (nest_.graph.term(id).kind != ExpressionKind::read) continue;
      const double bytes = bytes_of(nest_, id);
      cycles += bytes * passes(nest_.graph.term(id).depends) /
                (bytes > near_bytes ? far_bytes_in_a_cycle : near_bytes_in_a_cycle);
    }
    return cycles;
  }

  double passes(lowering::VariableSet depends) const {
    if (!block_.has_rows()) return 1;
    const bool has_row = (depends & lowering::set_of(nest_.axes[block_.row_axis])) != 0;
    const bool has_lane = (depends & lowering::set_of(nest_.axes[block_.lane_axis])) != 0;
    const double row_blocks = blocks_along(extent(block_.row_axis), sizes_.rows);
    const double lane_blocks = blocks_along(extent(block_.lane_axis), sizes_.lanes);
    switch (block_.order) {
      case LoopOrder::rows_outside: return has_lane && !has_row ? row_blocks : 1;
      case LoopOrder::rows_inside: return has_row && !has_lane ? lane_blocks : 1;
      case LoopOrder::chunks:
        return has_row && !has_lane
                   ? blocks_along(extent(block_.lane_axis), std::max<std::int64_t>(1, block_.chunk))
                   : 1;
    }
    return 1;
  }

  const LoweredOutput& nest_;
  const ElementBlock& block_;
  std::int64_t registers_;
  BlockSizes sizes_;
};

double cycles_of(const LoweredOutput& given, const LoopSchedule& schedule,
                 const VectorRegisters& registers) {
  double bytes = static_cast<double>(byte_size(given.type));
  std::vector<std::int64_t> extents;
  const auto merged = lowering::merge_bound(given);
  const LoweredOutput& nest = merged ? *merged : given;
  for (const LoopVariable axis : nest.axes) {
    extents.push_back(nest.graph.extent(axis));
    bytes *= static_cast<double>(extents.back());
  }
  for (TermNumber id = 0; id < nest.graph.size(); ++id)
    if (nest.graph.term(id).kind == ExpressionKind::read) bytes += bytes_of(nest, id);
  const auto block = find_block(nest, extents, schedule);
  const double moved = bytes / near_bytes_in_a_cycle;
  if (!block || block->converts) return operation_count(nest) / operations_in_a_cycle + moved;
  return BlockModel(nest, *block, registers).cycles() + moved;
}

}  // namespace

VectorRegisters vector_registers() {
  const std::string processor = processor_identity();
  if (processor.find(" avx512f") != std::string::npos) return {32, 64};
  return processor.find(" avx2") != std::string::npos ? VectorRegisters{16, 32}
                                                      : VectorRegisters{16, 16};
}

double modelled_cycles(const TaskProgram& program, const VectorRegisters& registers) {
  double cycles = 0;
  for (const TaskOperator& op : program.graph.operators)
    for (const Phase& phase : op.body.phases)
      cycles += cycles_of(phase.nest, phase.schedule, registers);
  return cycles;
}

}  // namespace lemma::backend
