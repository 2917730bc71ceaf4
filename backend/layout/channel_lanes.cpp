#include "backend/layout/channel_lanes.h"

#include <algorithm>
#include <array>

#include "backend/pairs.h"
#include "backend/panels.h"
#include "lowering/merge_axes.h"
#include "lowering/sum_of_products.h"

namespace lemma::backend {

namespace {

using lowering::Linear;
using lowering::LoopVariable;
using lowering::LoweredOutput;
using lowering::Term;

/// The only axis of the result that the weight depends on, if it is an index of its own.
std::optional<LoopVariable> channel_of(const LoweredOutput& nest, const Term& weight) {
  std::optional<LoopVariable> channel;
  for (const LoopVariable axis : nest.axes) {
    if ((weight.depends & lowering::set_of(axis)) == 0) continue;
    if (channel) return std::nullopt;
    channel = axis;
  }
  if (!channel) return std::nullopt;
  const auto uses =
      std::count_if(weight.indices.begin(), weight.indices.end(),
                    [&](const Linear& index) { return index.coefficient(*channel) != 0; });
  const bool is_index = std::find(weight.indices.begin(), weight.indices.end(),
                                  Linear::atom(*channel)) != weight.indices.end();
  return uses == 1 && is_index ? channel : std::nullopt;
}

/// 0: there is none.
std::int64_t panel_of(std::int64_t channels, const LoopSchedule& schedule) {
  if (schedule.panel) return channels % *schedule.panel == 0 ? *schedule.panel : 0;
  for (const std::int64_t panel : channel_panels)
    if (channels % panel == 0) return panel;
  return 0;
}

/// Elements of the result from one channel to the next.
std::int64_t positions_of(const LoweredOutput& nest, LoopVariable channel) {
  std::int64_t positions = 1;
  for (std::size_t axis = nest.axes.size(); axis-- > 0 && nest.axes[axis] != channel;)
    positions *= nest.graph.extent(nest.axes[axis]);
  return positions;
}

/// Channels of a group, if an axis of the result is divided into groups; 0 if it is not; nothing if other axes are divided.
std::optional<std::int64_t> group_of(const LoweredOutput& nest, LoopVariable channel) {
  const std::vector<std::int64_t> parts = lowering::find_parts(nest);
  if (parts.empty()) return 0;
  std::int64_t group = 0;
  std::size_t axis = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (nest.sizes[i] == 1) continue;
    if (nest.axes[axis++] == channel)
      group = parts[i];
    else if (parts[i] != 1)
      return std::nullopt;
  }
  return group;
}

/// Whether an operand depends on no more of a channel than which group it is in.
bool is_shared_by_group(const LoweredOutput& nest, const Term& other, LoopVariable channel,
                        std::int64_t group) {
  if ((other.depends & lowering::set_of(channel)) == 0) return true;
  if (group == 0) return false;
  for (const Linear& index : other.indices)
    if (index.coefficient(channel) != 0) return false;
  // What divides the channel divides it into groups.
  for (lowering::TermNumber id = 0; id < nest.graph.size(); ++id) {
    const Term& term = nest.graph.term(id);
    if (term.divisor > 1 && (term.depends & lowering::set_of(channel)) != 0 &&
        !(term.divisor == group && term.linear == Linear::atom(channel)))
      return false;
  }
  return true;
}

std::int64_t loops_of(const LoweredOutput& nest, const Term& sum) {
  return std::count_if(sum.bound.begin(), sum.bound.end(),
                       [&nest](LoopVariable v) { return nest.graph.extent(v) > 1; });
}

/// Whether a product along the last axis of the merged nest leaves a tenth of the lanes empty, or has no whole block, and
/// channels side by side with that axis as rows do not.
bool leaves_lanes_empty(const LoweredOutput& nest) {
  constexpr std::int64_t lanes = 32, least_rows = 6;
  const auto merged = lowering::merge_axes(nest);
  if (!merged) return false;
  const std::int64_t row = merged->graph.extent(merged->axes.back());
  const std::int64_t vectors = (row + lanes - 1) / lanes;
  return row >= least_rows && (row < lanes || 10 * row < 9 * vectors * lanes);
}

std::optional<ChannelLanes> of_factors(const LoweredOutput& nest, const Term& weight,
                                       const Term& other, bool has_window,
                                       const LoopSchedule& schedule) {
  const auto channel = channel_of(nest, weight);
  const LoopVariable last = nest.axes.back();
  if (!channel || *channel == last || (other.depends & lowering::set_of(last)) == 0)
    return std::nullopt;
  const auto group = group_of(nest, *channel);
  if (!group || !is_shared_by_group(nest, other, *channel, *group)) return std::nullopt;
  const std::int64_t panel = panel_of(*group != 0 ? *group : nest.graph.extent(*channel), schedule);
  if (panel == 0 || (*group != 0 && *group != panel)) return std::nullopt;
  if (schedule.channels == true) return ChannelLanes{*channel, weight.input, panel};
  if (positions_of(nest, *channel) > most_panel_positions) return std::nullopt;
  if (!has_window && (*group != 0 || !leaves_lanes_empty(nest))) return std::nullopt;
  return ChannelLanes{*channel, weight.input, panel};
}

/// Of a sum of products, which may be of groups of integers.
std::optional<std::array<lowering::TermNumber, 2>> factors_of(const LoweredOutput& nest,
                                                              lowering::TermNumber id) {
  if (const auto pairs = find_pair_sum(nest, id))
    return std::array{pairs->factors[0], pairs->factors[1]};
  return lowering::summed_product(nest.graph, nest.graph.term(id));
}

}  // namespace

std::optional<ChannelLanes> find_channel_lanes(const LoweredOutput& nest,
                                               const std::function<bool(std::uint32_t)>& is_weight,
                                               const LoopSchedule& schedule) {
  if (schedule.channels == false) return std::nullopt;
  if (nest.axes.size() < 2 || (nest.type != DataType::f32 && !has_pair_sum(nest)))
    return std::nullopt;
  for (lowering::TermNumber id = 0; id < nest.graph.size(); ++id) {
    const Term& sum = nest.graph.term(id);
    if (!is_panel_sum(nest, id, schedule.channels ? least_wanted_panel_terms : least_panel_terms))
      continue;
    const auto product = factors_of(nest, id);
    if (!product) continue;
    for (const std::size_t weight : {0, 1}) {
      const Term& factor = nest.graph.term((*product)[weight]);
      const Term& other = nest.graph.term((*product)[1 - weight]);
      if (factor.kind != ExpressionKind::read || other.kind != ExpressionKind::read ||
          !is_weight(factor.input))
        continue;
      const std::int64_t least_loops = find_pair_sum(nest, id) ? 3 : 2;  // of windows
      if (const auto lanes =
              of_factors(nest, factor, other, loops_of(nest, sum) >= least_loops, schedule))
        return lanes;
    }
  }
  return std::nullopt;
}

std::optional<ChannelLanes> find_channel_lanes(const Computation& computation,
                                               const std::vector<Buffer>& buffers) {
  const auto nest = nest_of(computation);
  if (!nest) return std::nullopt;
  return find_channel_lanes(
      *nest, [&](std::uint32_t input) { return is_weight(computation, buffers, input); },
      computation.schedule);
}

bool is_weight(const Computation& computation, const std::vector<Buffer>& buffers,
               std::uint32_t input) {
  const BufferNumber buffer = computation.operands[input];
  return buffer != no_buffer && buffers[buffer].memory == Memory::weights &&
         bits(buffers[buffer].type) % 8 == 0;
}

}  // namespace lemma::backend
