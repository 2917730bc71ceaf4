#pragma once
// Whether two model files compute the same. Nothing counts as equal that was not compared (docs/semantics.md, "Comparing
// two files").

#include <filesystem>
#include <functional>
#include <string>

#include "base/deadline.h"
#include "check/sampled_check.h"
#include "frontend_onnx/import.h"
#include "profiler/onnxruntime_worker.h"

namespace lemma {

struct FileComparisonRequest {
  std::filesystem::path original, other;
  ImportOptions reading;
  SampledCheckOptions check;
  Deadline deadline;
  /// Starts ONNX Runtime, which is asked where nothing else can compare; null: it is not asked.
  std::function<OnnxRuntimeWorker*()> onnx_runtime;
};

/// How the verdict was found.
enum class ComparedBy {
  interface,     // names and types of inputs and outputs differ
  computing,     // both were computed on random and adversarial inputs
  structure,     // both are the same program, node by node
  parts,         // as `computing`, between opaque nodes that are the same in both
  running,       // both were run whole, bodies included
  onnx_runtime,  // ONNX Runtime ran both
};
std::string_view name(ComparedBy way);

struct FileComparison {
  ComparedBy way = ComparedBy::computing;
  SampledCheck check;  // `samples` also counts the sets of inputs of `running` and `onnx_runtime`
};

/// An error of kind `unsupported` names what cannot be compared.
Result<FileComparison> compare_files(const FileComparisonRequest& request);

}  // namespace lemma
