#pragma once
// Pipelines: a chain of layers is cut into stages, one for each group of devices, and a batch goes through them in parts.

#include <optional>
#include <vector>

#include "plans/choice/problem.h"

namespace lemma::choice {

/// A layer with one part of the batch (a microbatch), on the devices of a stage.
struct Layer {
  double seconds = 0;       // forward and backward
  double send_seconds = 0;  // of its result to the next stage, and of the gradient back
  Bytes weight_bytes = 0;   // with gradients and the optimizer's state
  Bytes kept_bytes = 0;     // that the backward pass needs of a microbatch
};

/// When a stage runs the backward pass of a microbatch: after all forward passes (GPipe), or as soon as it can (1F1B), so
/// that it keeps as many microbatches as there are stages from it to the end.
enum class Schedule : std::uint8_t { all_forward_first, backward_first };

struct PipelineProblem {
  std::vector<Layer> layers;
  std::size_t most_stages = 1;
  std::size_t microbatches = 1;
  Schedule schedule = Schedule::backward_first;
  std::optional<Bytes> limit;  // of each stage
};

/// The first layer of each stage, the first one being 0.
using Cut = std::vector<std::size_t>;

/// Seconds of a step: all stages one after the other for one microbatch, and for each further one the slowest stage. A stage
/// takes the time of its layers and of sending its result.
double pipeline_seconds(const PipelineProblem& problem, const Cut& cut);
/// The most memory of all stages.
Bytes pipeline_peak(const PipelineProblem& problem, const Cut& cut);
/// The part of the time in which a stage waits where all take the same: (stages - 1) / (microbatches + stages - 1).
double bubble_fraction(std::size_t stages, std::size_t microbatches);

struct PipelineOutcome {
  Cut cut;  // empty: no cut is within the limit
  double seconds = 0;
  Bytes peak = 0;
};

/// The cut that takes the least time within the limit, with one to `most_stages` stages: exact, by dynamic programming from
/// the end over fronts of (sum of all stages, slowest stage).
PipelineOutcome best_pipeline(const PipelineProblem& problem);

}  // namespace lemma::choice
