#pragma once
// Sizes of --shape that ONNX Runtime does not take.

#include <filesystem>
#include <string>

#include "base/deadline.h"
#include "frontend_onnx/model.h"
#include "pipeline/optimize_model.h"
#include "profiler/onnxruntime_worker.h"

namespace lemma {

/// What ONNX Runtime says against the model with these sizes, where it loads the file: with them known it may find a
/// branch that is never taken to be wrong. Empty: nothing, or there are no sizes, or it is not there (`worker` is null).
/// The model with the sizes is written beside `output` for this, and removed.
std::string objection_to_sizes(OnnxRuntimeWorker* worker, const OnnxModel& sized,
                               const std::filesystem::path& file,
                               const std::filesystem::path& output, const OptimizeOptions& options,
                               const Deadline& deadline);

/// The same, but the sizes are those of the check alone.
OptimizeOptions with_open_sizes(OptimizeOptions options);

}  // namespace lemma
