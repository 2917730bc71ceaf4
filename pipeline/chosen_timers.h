#pragma once
// What runs operators and models while one model is optimized.

#include <optional>

#include "outputs/scratch.h"
#include "pipeline/job.h"
#include "profiler/model_timing.h"
#include "profiler/operator_measurement.h"

namespace lemma {

/// The timers of the target, if it has some of its own, else those of ONNX Runtime, if it is wanted.
class ChosenTimers {
 public:
  ChosenTimers(const ChosenTimers&) = delete;
  ChosenTimers& operator=(const ChosenTimers&) = delete;
  ChosenTimers() = default;

  /// An error: the target has timers, and they cannot be started. A compiler may take a quarter of the time.
  Result<void> start(const Job& job, const Deadline& deadline);

  OperatorTimer* operators() const { return operators_; }  // null: nothing can be measured
  ModelTimer* models() const { return models_; }           // null: nothing can be run

 private:
  std::optional<OnnxRuntimeOperators> operators_in_runtime_;
  std::optional<OnnxRuntimeModels> models_in_runtime_;
  std::optional<TemporaryDirectory> programs_;  // of graphs that are timed on a target of its own
  TargetTimers of_target_;
  OperatorTimer* operators_ = nullptr;
  ModelTimer* models_ = nullptr;
};

}  // namespace lemma
