#include "plans/choice/zero.h"

#include <cmath>

namespace lemma::choice {

double zero_bytes(const TrainingState& state, int stage, std::size_t devices) {
  const auto count = static_cast<double>(devices);
  return state.parameters * (state.weight_bytes / (stage >= 3 ? count : 1) +
                             state.gradient_bytes / (stage >= 2 ? count : 1) +
                             state.optimizer_bytes / (stage >= 1 ? count : 1));
}

double zero_seconds(const TrainingState& state, int stage, std::size_t axis,
                    const CollectivePrice& price) {
  using clusters::Collective;
  const double gradients = state.parameters * state.gradient_bytes;
  const double weights = state.parameters * state.weight_bytes;
  if (stage == 0) return price(Collective::all_reduce, gradients, axis);
  return price(Collective::reduce_scatter, gradients, axis) +
         (stage >= 3 ? 2 : 1) * price(Collective::all_gather, weights, axis);
}

std::vector<Strategy> zero_strategies(const TrainingState& state, std::size_t axis,
                                      const MeshSizes& mesh, const CollectivePrice& price) {
  std::vector<Strategy> strategies;
  for (int stage = 0; stage < zero_stages; ++stage)
    strategies.push_back({zero_seconds(state, stage, axis, price),
                          static_cast<Bytes>(std::ceil(zero_bytes(state, stage, mesh[axis])))});
  return strategies;
}

}  // namespace lemma::choice
