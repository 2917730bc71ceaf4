#include "backend_cuda/layout/channel_lanes.h"

#include <algorithm>

#include "backend_cuda/panels.h"

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

std::int64_t panel_of(std::int64_t channels) {
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

std::optional<ChannelLanes> of_factors(const LoweredOutput& nest, const Term& weight,
                                       const Term& other) {
  const auto channel = channel_of(nest, weight);
  const LoopVariable last = nest.axes.back();
  if (!channel || *channel == last || (other.depends & lowering::set_of(*channel)) != 0 ||
      (other.depends & lowering::set_of(last)) == 0)
    return std::nullopt;
  const std::int64_t panel = panel_of(nest.graph.extent(*channel));
  if (panel == 0 || positions_of(nest, *channel) > most_panel_positions) return std::nullopt;
  return ChannelLanes{*channel, weight.input, panel};
}

}  // namespace

std::optional<ChannelLanes> find_channel_lanes(
    const LoweredOutput& nest, const std::function<bool(std::uint32_t)>& is_weight) {
  if (nest.axes.size() < 2 || nest.type != DataType::f32 || !lowering::find_parts(nest).empty())
    return std::nullopt;
  for (lowering::TermNumber id = 0; id < nest.graph.size(); ++id) {
    const Term& sum = nest.graph.term(id);
    if (!is_panel_sum(nest, sum)) continue;
    const Term& product = nest.graph.term(sum.operands[0]);
    if (product.kind != ExpressionKind::multiply) continue;
    for (const std::size_t weight : {0, 1}) {
      const Term& factor = nest.graph.term(product.operands[weight]);
      const Term& other = nest.graph.term(product.operands[1 - weight]);
      if (factor.kind != ExpressionKind::read || other.kind != ExpressionKind::read ||
          !is_weight(factor.input))
        continue;
      if (const auto found = of_factors(nest, factor, other)) return found;
    }
  }
  return std::nullopt;
}

std::optional<ChannelLanes> find_channel_lanes(const Computation& computation,
                                               const std::vector<Buffer>& buffers) {
  const auto nest = nest_of(computation);
  if (!nest) return std::nullopt;
  return find_channel_lanes(
      *nest, [&](std::uint32_t input) { return is_weight(computation, buffers, input); });
}

bool is_weight(const Computation& computation, const std::vector<Buffer>& buffers,
               std::uint32_t input) {
  const BufferNumber buffer = computation.operands[input];
  return buffer != no_buffer && buffers[buffer].memory == Memory::weights &&
         bits(buffers[buffer].type) % 8 == 0;
}

}  // namespace lemma::backend
