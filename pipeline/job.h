#pragma once
// One model that is optimized: what every step of the pipeline is given.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "check/replayed_rules.h"
#include "pipeline/optimize_model.h"

namespace lemma {

struct Job {
  const OnnxModel& model;  // as it is searched
  int own_operator_set;    // of the file
  std::filesystem::path file, output;
  const RuleDatabase& rules;
  const ReplayedRules& replayed;
  const OptimizeOptions& options;
  OnnxRuntimeWorker* worker;                               // null: ONNX Runtime is not wanted
  std::map<std::string, std::int64_t, std::less<>> sizes;  // of symbols, for the check
  double writing_seconds;                                  // that writing the model may take

  void stage(const std::string& what) const {
    if (options.on_stage) options.on_stage(what);
  }
  /// Called between steps, and before anything is written.
  Result<void> go_on() const {
    if (options.has_been_cancelled()) return unsupported(std::string(cancelled_call));
    return {};
  }
  bool asks_second_judge() const { return options.onnx_runtime && options.second_judge; }
  /// How original and result are compared.
  SampledCheckOptions comparison() const {
    SampledCheckOptions result = options.check;
    result.sizes = sizes;
    result.threads = options.threads;
    result.cancelled = options.cancelled;
    result.bitwise = options.rules.rounding_class == RoundingClass::bitwise;
    return result;
  }
  SampledCheckOptions comparison(const Deadline& deadline) const {
    SampledCheckOptions result = comparison();
    result.deadline = deadline.at();
    return result;
  }
};

}  // namespace lemma
