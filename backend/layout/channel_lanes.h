#pragma once
// Which sums of products, as of convolutions, are to be computed for channels side by side (backend/panels.h).

#include <functional>
#include <optional>

#include "backend/lower/computation.h"

namespace lemma::backend {

/// Sums over a window; others are products, which go along all positions at once, but where the vectors of the last row
/// would stay empty. Channels of a group have to be one panel.
struct ChannelLanes {
  lowering::LoopVariable channel = 0;  // the axis of the result, which is not the last one
  std::uint32_t weights = 0;           // the input
  std::int64_t panel = 0;              // channels side by side
};

/// A factor of the products is a weight that depends on the channel and on no other axis of the result; the other one
/// depends on the last axis and not on the channel, or only on its group. `is_weight`: of an input. The schedule may want it
/// nowhere, or wherever channels fill panels.
std::optional<ChannelLanes> find_channel_lanes(const lowering::LoweredOutput& nest,
                                               const std::function<bool(std::uint32_t)>& is_weight,
                                               const LoopSchedule& schedule = {});

/// The same for a computation in memory.
std::optional<ChannelLanes> find_channel_lanes(const Computation& computation,
                                               const std::vector<Buffer>& buffers);

/// Whether an operand is a constant that may be stored in another order.
bool is_weight(const Computation& computation, const std::vector<Buffer>& buffers,
               std::uint32_t input);

}  // namespace lemma::backend
