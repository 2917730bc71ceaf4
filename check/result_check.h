#pragma once
// What a result has to pass before it takes its original's place: its graph is well formed, its explanation holds, its
// file holds the graph, and both compute the same. docs/search.md, "How a result is checked", names the steps.

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "check/replayed_rules.h"
#include "check/sampled_check.h"
#include "check/second_judge.h"
#include "frontend_onnx/import.h"

namespace lemma {

/// ONNX Runtime as a judge of one result.
struct SecondJudgeRequest {
  OnnxRuntimeWorker& worker;
  std::span<const interpreter::NamedTensor>
      inputs;  // that it runs the original on, if any are known
  std::filesystem::path scratch_folder;
  double seconds_of_a_run = 0;  // of the original
  double seconds_to_load = 0;   // either model
  Deadline deadline;
};

struct ResultCheckRequest {
  const OnnxModel& original;
  std::filesystem::path original_file;
  const Graph& result;  // that `result_file` has to hold
  std::filesystem::path result_file;
  /// Of its nodes that are opaque in `result`: names of their first outputs.
  const std::set<std::string, std::less<>>& opaque_outputs;
  ImportOptions reading;         // how both files are read
  std::string_view explanation;  // why `result` is equal
  const ReplayedRules& rules;
  const SampledReference& reference;  // of the original
  SampledCheckOptions comparison;     // its deadline is the one below
  Deadline deadline;
  /// Whether what the result is for can run it; none: everything can.
  std::function<Result<void>(const Graph&)> admits;
  std::optional<SecondJudgeRequest> second_judge;
  std::function<void(const std::string&)> on_step;     // for progress
  std::function<void(const Graph&)> on_written_graph;  // the graph that the file holds
};

/// What was compared, and by whom.
struct CheckReport {
  SampledCheck comparison;
  double seconds = 0;  // of all that looks at results, reading back included
  /// "agrees", "differs", "not available", "too late", "not asked" (nothing new was to be written) or
  /// "off"; `second.message` says why not.
  std::string second_judge;
  JudgeAnswer second;
  /// The result of the whole run of a model with opaque nodes by the interpreter: "agrees", "not available" or "not
  /// asked" (there are no opaque nodes, or nothing new was to be written); `whole_run_message` says why not.
  std::string whole_run = "not asked";
  std::string whole_run_message;
};

struct ResultVerdict {
  enum class Kind {
    passed,
    refused,     // the result is not what the original is
    impossible,  // it could not be checked, which is not the result's fault
  };
  Kind kind = Kind::passed;
  std::string reason;  // of `refused` and `impossible`: the first that was found
};

/// The steps in order, until one of them refuses. `report` is told what was compared.
ResultVerdict check_result(const ResultCheckRequest& request, CheckReport& report);

/// Seconds that the second judge may take: for loading both models, and for all sets unless the model is slow.
double second_judge_allowance(double seconds_of_a_run, double seconds_to_load);

}  // namespace lemma
