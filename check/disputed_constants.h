#pragma once
// Constants on which our interpreter and ONNX Runtime disagree: standards leave some results open (integers that overflow,
// conversions of NaN), and runtimes have faults. Such a constant is to stay computed by the runtime that runs the model.

#include <filesystem>
#include <set>
#include <string>

#include "frontend_onnx/model.h"
#include "profiler/onnxruntime_worker.h"

namespace lemma {

/// Operators with the type of their first operand, as "Pow i64", whose results on constants of the model differ in ONNX
/// Runtime. Each application is compared by itself, with operands that we computed; at most 300 of them, of at most 65,536
/// elements. Empty: there are none, or ONNX Runtime does not answer in time.
std::set<std::string> disputed_operators(const OnnxModel& model, OnnxRuntimeWorker& worker,
                                         const std::filesystem::path& scratch_folder, int threads,
                                         double seconds);

}  // namespace lemma
