#include <algorithm>

#include "backend/emit/dealt_terms.h"
#include "backend/emit/emit_block.h"
#include "backend/emit/vector_reduction.h"
#include "backend/pairs.h"
#include "backend/panels.h"

namespace lemma::backend {

using lowering::LoopVariable;
using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;

namespace {

constexpr std::int64_t least_lanes = 4;

/// Reads below a reduction that is computed for each element of the lanes.
std::vector<TermNumber> reads_in_sums(const LoweredOutput& nest, lowering::VariableSet lanes) {
  std::vector<bool> is_below(nest.graph.size(), false);
  std::vector<bool> is_used(nest.graph.size(), false);
  is_used[nest.root] = true;
  std::vector<TermNumber> reads;
  for (TermNumber id = nest.root + 1; id-- > 0;) {
    const Term& term = nest.graph.term(id);
    if (!is_used[id]) continue;
    const bool is_sum = is_reduction(term.kind) && (term.depends & lanes) != 0;
    for (const TermNumber operand : term.operands) {
      is_used[operand] = true;
      if (is_below[id] || is_sum) is_below[operand] = true;
    }
    if (term.kind == ExpressionKind::read && is_below[id]) reads.push_back(id);
  }
  return reads;
}

/// The axis whose rows share vectors that are read; else one whose rows share single elements, or the one before the
/// lanes, where the lanes alone are too few to keep the processor from waiting for its own results.
void choose_rows(const LoweredOutput& nest, const std::vector<std::int64_t>& least_extents,
                 const std::vector<TermNumber>& reads, ElementBlock& block) {
  constexpr std::int64_t long_row = 64;
  const lowering::VariableSet lane = lowering::set_of(nest.axes[block.lane_axis]);
  const auto take = [&](std::size_t axis) {
    if (least_extents[axis] < 2) return false;
    block.row_axis = axis;
    block.row_extent = least_extents[axis];
    return true;
  };
  for (const bool wants_vector : {true, false}) {
    if (!wants_vector && block.lane_extent >= long_row) return;
    for (std::size_t axis = block.lane_axis; axis-- > 0;) {
      const bool is_shared = std::any_of(reads.begin(), reads.end(), [&](TermNumber id) {
        const lowering::VariableSet depends = nest.graph.term(id).depends;
        return (depends & lowering::set_of(nest.axes[axis])) == 0 &&
               (!wants_vector || (depends & lane) != 0);
      });
      if (is_shared && take(axis)) return;
    }
  }
  if (block.lane_axis > 0) take(block.lane_axis - 1);
}

double bytes_read(const LoweredOutput& nest, TermNumber read) {
  const lowering::InputView& input = nest.graph.inputs()[nest.graph.term(read).input];
  double bytes = static_cast<double>(byte_size(input.type));
  for (const std::int64_t size : input.sizes) bytes *= static_cast<double>(size);
  return bytes;
}

/// How often bytes are read, those beyond the cache counted more, with each order of the loops; the order with the least.
/// `reads`: below sums.
void choose_order(const LoweredOutput& nest, const std::vector<TermNumber>& reads,
                  ElementBlock& block) {
  constexpr double cache_bytes = 1 << 20, beyond_cache = 4, rows = 8, lanes = 32;
  constexpr std::int64_t chunk_bytes = 1 << 19, least_chunk = 128;
  const lowering::VariableSet row = lowering::set_of(nest.axes[block.row_axis]);
  const lowering::VariableSet lane = lowering::set_of(nest.axes[block.lane_axis]);
  lowering::VariableSet axes = 0;
  double columns = 1;
  for (const LoopVariable axis : nest.axes) {
    axes |= lowering::set_of(axis);
    if (lowering::set_of(axis) != row) columns *= static_cast<double>(nest.graph.extent(axis));
  }
  const auto cost = [](double bytes) { return bytes * (bytes > cache_bytes ? beyond_cache : 1); };
  double of_rows = 0, of_lanes = 0, near_lanes = 0;
  std::int64_t bytes_of_lane = 1;  // that the terms of one element take
  for (const TermNumber id : reads) {
    const lowering::VariableSet depends = nest.graph.term(id).depends;
    if ((depends & row) != 0 && (depends & lane) == 0) of_rows += cost(bytes_read(nest, id));
    if ((depends & row) != 0 || (depends & lane) == 0) continue;
    of_lanes += cost(bytes_read(nest, id));
    near_lanes += bytes_read(nest, id);
    std::int64_t terms = static_cast<std::int64_t>(byte_size(nest.type));
    for (LoopVariable v = 0; v < nest.graph.variable_count(); ++v)
      if ((depends & ~axes & lowering::set_of(v)) != 0) terms *= nest.graph.extent(v);
    bytes_of_lane = std::max(bytes_of_lane, terms);
  }
  const std::int64_t length = nest.graph.extent(nest.axes[block.lane_axis]);
  block.chunk = std::max(least_chunk, chunk_bytes / bytes_of_lane / least_chunk * least_chunk);
  const double chunks = columns / static_cast<double>(std::min(block.chunk, length));
  const double row_blocks =
      static_cast<double>(nest.graph.extent(nest.axes[block.row_axis])) / rows;
  const double outside = of_lanes * row_blocks, inside = of_rows * columns / lanes,
               chunked = of_rows * chunks + near_lanes * row_blocks;
  if (inside < outside && inside <= chunked) block.order = LoopOrder::rows_inside;
  if (chunked < outside && chunked < inside) block.order = LoopOrder::chunks;
}

/// Elements of the last axis, or groups of elements.
std::int64_t side_by_side(const lowering::InputView& view, bool has_groups) {
  const std::size_t axis = view.sizes.size() - (has_groups ? 2 : 1);
  return view.sizes[axis];
}

/// Lanes along the channels of a panel of weights, and rows along the last axis.
std::optional<ElementBlock> find_panel(const LoweredOutput& nest,
                                       const std::vector<std::int64_t>& least_extents,
                                       const LoopSchedule& schedule) {
  if (schedule.channels == false) return std::nullopt;
  const auto is_panel = [&](std::int64_t extent) {
    return schedule.panel == extent ||
           std::find(channel_panels.begin(), channel_panels.end(), extent) != channel_panels.end();
  };
  const std::size_t last = nest.axes.size() - 1;
  const lowering::VariableSet rows = lowering::set_of(nest.axes[last]);
  if (least_extents[last] < 2) return std::nullopt;
  for (std::size_t axis = 0; axis < last; ++axis) {
    const std::int64_t extent = nest.graph.extent(nest.axes[axis]);
    if (least_extents[axis] < std::min(channel_panels.back(), extent) || !is_panel(extent))
      continue;
    const ElementBlock block{axis, last, least_extents[axis], least_extents[last]};
    for (TermNumber id = 0; id < nest.graph.size(); ++id) {
      if (!is_panel_sum(nest, id, schedule.channels ? least_wanted_panel_terms : least_panel_terms))
        continue;
      const auto reduction = find_vector_reduction(nest, block, id);
      if (!reduction || !reduction->down || reduction->step != 1) continue;
      const Term& weight = nest.graph.term(reduction->across);
      if ((weight.depends & rows) == 0 && (nest.graph.term(*reduction->down).depends & rows) != 0 &&
          side_by_side(nest.graph.inputs()[weight.input], reduction->has_groups()) == extent)
        return block;
    }
  }
  return std::nullopt;
}

/// Whether blocks of as many lanes as fit compute few elements twice.
bool are_whole(std::int64_t extent) {
  std::int64_t lanes = 16;
  while (2 * lanes <= std::min(extent, lanes_of_conversions)) lanes *= 2;
  const std::int64_t computed = (extent + lanes - 1) / lanes * lanes;
  constexpr std::int64_t part = 8;
  return computed - extent <= extent / part;
}

/// Lanes along the last axis of a nest without sums, in which f16 is read side by side or made, or in which there are
/// exponentials. Elements that are only moved are not converted.
std::optional<ElementBlock> find_conversions(const LoweredOutput& nest,
                                             const std::vector<std::int64_t>& least_extents) {
  constexpr std::int64_t least_converted = 16;
  if (nest.graph.domain() != lowering::Domain::native || least_extents.back() < least_converted)
    return std::nullopt;
  bool is_converted = nest.type == DataType::f16;
  for (TermNumber id = 0; id <= nest.root; ++id) {
    if (is_reduction(nest.graph.term(id).kind)) return std::nullopt;
    is_converted = is_converted || reads_halves_along(nest.graph, id, nest.axes.back()) ||
                   (is_exponential_of_f32(nest.graph, id) && are_whole(least_extents.back()) &&
                    (nest.graph.term(id).depends & lowering::set_of(nest.axes.back())) != 0);
  }
  const Term& root = nest.graph.term(nest.root);
  const bool is_moved = root.type == DataType::f16 &&
                        (root.kind == ExpressionKind::read || root.kind == ExpressionKind::select);
  if (!is_converted || is_moved) return std::nullopt;
  ElementBlock block;
  block.lane_axis = nest.axes.size() - 1;
  block.lane_extent = least_extents.back();
  block.converts = true;
  return block;
}

/// The block that constants and estimates choose.
std::optional<ElementBlock> usual_block(const LoweredOutput& nest,
                                        const std::vector<std::int64_t>& least_extents,
                                        const LoopSchedule& schedule) {
  if (const auto panel = find_panel(nest, least_extents, schedule)) return panel;
  if (const auto conversions = find_conversions(nest, least_extents)) return conversions;
  ElementBlock block;
  block.lane_axis = nest.axes.size() - 1;
  block.lane_extent = least_extents[block.lane_axis];
  const LoopVariable lane = nest.axes[block.lane_axis];
  const std::vector<TermNumber> reads = reads_in_sums(nest, lowering::set_of(lane));
  const bool is_together = std::any_of(reads.begin(), reads.end(), [&](TermNumber id) {
    std::int64_t step = nest.graph.address(nest.graph.term(id)).coefficient(lane);
    if (is_read_in_pairs(nest, id)) step = step_in_pairs(nest, id, lane);
    return step == 1 || step == 2;
  });
  if (block.lane_extent < least_lanes || !is_together) return std::nullopt;
  choose_rows(nest, least_extents, reads, block);
  if (block.has_rows()) choose_order(nest, reads, block);
  return block;
}

}  // namespace

std::optional<ElementBlock> find_block(const LoweredOutput& nest,
                                       const std::vector<std::int64_t>& least_extents,
                                       const LoopSchedule& schedule) {
  if (nest.axes.empty() || deals_out_terms(nest)) return std::nullopt;
  auto block = usual_block(nest, least_extents, schedule);
  if (!block) return block;
  block->schedule = schedule;
  if (block->converts) return block;
  if (schedule.rows == 1 && !block->has_channel_lanes()) {
    block->row_extent = 1;
    block->order = LoopOrder::rows_outside;
  }
  if (!block->has_rows() || block->has_channel_lanes()) return block;
  if (schedule.order) block->order = *schedule.order;
  if (schedule.chunk) block->chunk = *schedule.chunk;
  return block;
}

}  // namespace lemma::backend
