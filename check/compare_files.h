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

/// Two ONNX files, and how they are compared.
struct FileComparisonRequest {
  std::filesystem::path original, other;  // whether `other` gives what `original` gives
  ImportOptions reading;                  // of both files
  SampledCheckOptions check;              // the deadline below takes the place of its own
  Deadline deadline;                      // of the whole comparison
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
std::string_view name(ComparedBy way);  // for reports, such as "onnx runtime"

/// A verdict, and how it was found.
struct FileComparison {
  ComparedBy way = ComparedBy::computing;  // the one that decided
  SampledCheck check;  // `samples` also counts the sets of inputs of `running` and `onnx_runtime`
};

/// An error of kind `unsupported` names what cannot be compared.
Result<FileComparison> compare_files(const FileComparisonRequest& request);

}  // namespace lemma
