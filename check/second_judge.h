#pragma once
// ONNX Runtime as a second judge of a result, so that a fault of our own interpreter shows.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "check/rounding_spread.h"
#include "check/sampled_check.h"
#include "interpreter/run.h"
#include "profiler/onnxruntime_worker.h"

namespace lemma {

struct JudgeRequest {
  std::filesystem::path original, result;
  std::vector<NamedValues> sets;  // of inputs
  SampledTolerance tolerance;
  /// What rounding was seen to move outputs by, by name: they may differ by so much as well.
  std::map<std::string, OutputAllowance> allowances;
  int threads = 0;
  /// The folder for the contents of the inputs; it exists, and what is put there is removed again.
  std::filesystem::path scratch_folder;
  double time_limit_seconds = 10;
};

enum class JudgeVerdict { not_available, too_late, agrees, differs };
std::string_view name(JudgeVerdict verdict);

struct JudgeAnswer {
  JudgeVerdict verdict = JudgeVerdict::not_available;
  std::string message;  // why it is not available, or what differs
  int sets = 0;
  double max_error = 0;
  std::vector<std::string>
      different;  // on the first set of which one does; after it, random ones too
};

JudgeAnswer ask_second_judge(OnnxRuntimeWorker& worker, const JudgeRequest& request);

}  // namespace lemma
