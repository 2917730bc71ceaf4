#pragma once
// ZeRO: what data parallel devices keep of the state of training, and what that takes (Rajbhandari and others, 2020).

#include <cstddef>

#include "plans/choice/placement.h"

namespace lemma::choice {

/// Bytes for each parameter. As given: weights and gradients of 16 bits; weights of 32 bits and two moments for Adam.
struct TrainingState {
  double parameters = 0;
  double weight_bytes = 2, gradient_bytes = 2, optimizer_bytes = 12;
};

/// What is cut into parts, one for each device: nothing; the optimizer's state; gradients too; weights too.
inline constexpr int zero_stages = 4;

/// Bytes of the state on each of the devices.
double zero_bytes(const TrainingState& state, int stage, std::size_t devices);

/// Seconds of a step's collectives along an axis of a mesh: gradients are reduced, and weights gathered where they are
/// cut, in stage 3 for the forward and for the backward pass.
double zero_seconds(const TrainingState& state, int stage, std::size_t axis,
                    const CollectivePrice& price);

/// A strategy for each stage.
std::vector<Strategy> zero_strategies(const TrainingState& state, std::size_t axis,
                                      const MeshSizes& mesh, const CollectivePrice& price);

}  // namespace lemma::choice
