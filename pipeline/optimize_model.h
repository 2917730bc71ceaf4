#pragma once
// From a model to a cheaper one that has been checked, in a file. docs/search.md, "How a result is
// checked", says what is looked at. Nothing is written that has not passed.

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "check/result_check.h"
#include "check/sampled_check.h"
#include "costmodel/graph_cost.h"
#include "frontend_onnx/copy.h"
#include "frontend_onnx/export.h"
#include "frontend_onnx/import.h"
#include "pipeline/learned_costs.h"
#include "pipeline/timed_choice.h"
#include "rule_language/rule_database.h"
#include "search/optimize.h"
#include "targets/target.h"

namespace lemma {

/// The rules of the database that are used.
struct RuleSelection {
  RoundingClass rounding_class = RoundingClass::rounding;  // rules up to this class
  std::string names;  // a regular expression that their names contain; empty: all
};

/// Whether results are run before one is written.
struct TimingOptions {
  /// The original and the cheapest graphs are run on the target. The original is written unless another
  /// one is faster.
  bool measures = false;
  std::optional<TimingReport> replay;  // what to repeat in place of measuring
};

/// How optimize_model() reads, searches, checks and writes.
struct OptimizeOptions {
  ImportOptions reading;  // how the file of the model becomes a graph
  RuleSelection rules;    // of the database given to the call
  /// Whether there is a search; its limits of time and memory follow from those below. Without one
  /// the model is only read and written.
  bool searches = true;
  /// Whether only what takes operators away is done, and what has fewer nodes in the file is written
  /// though it may cost as much.
  bool cleans = false;
  /// Whether, where nothing faster is found, the file's own bytes are written, not the graph that is only
  /// simpler.
  bool keeps_original = false;
  /// Its limits of time and memory, and what follows from the target, are set by the call.
  SearchOptions search;
  SampledCheckOptions check;  // of the result against the original
  /// Sizes of inputs for the check alone: constants.
  std::map<std::string, Shape, std::less<>> sample_shapes;
  /// ONNX Runtime, for what follows; none: it is not started.
  std::optional<OnnxRuntimeProgram> onnx_runtime;
  /// The program that runs ONNX Runtime, where the caller has started it before something that takes a
  /// while; null: it is started.
  OnnxRuntimeWorker* worker = nullptr;
  bool second_judge = true;  // compares the result with the original
  TimingOptions timing;      // by default nothing is run
  /// How much larger than the original's the result's file may be, as a part of it. Nothing: by 4,096 bytes (if it is
  /// cleaned or only simplified, too), but of any size where it was faster when it was run, and twice as large where it is
  /// predicted for a device that is only described.
  std::optional<double> most_growth;
  bool is_only_described = false;     // the device: nothing is run on it
  CostOptions costs;                  // whether operators are measured, and where that is kept
  ExportOptions writing;              // of the result
  int operator_set = 0;               // that is written; 0: that of the model
  std::filesystem::path explanation;  // file to write why the result is equal; empty: none
  std::filesystem::path trace;        // folder for the graph after each step; empty: none
  int threads = 0;                    // 0: as many as there are processors
  double time_limit_seconds = 20;     // from the call to writing
  /// What may still be allocated when the search begins; none: SearchOptions::memory_limit_bytes.
  std::function<std::size_t()> available_bytes;
  /// For progress: called with what begins to be done ("reading", "writing", ...), in the thread of the call. What it throws
  /// comes out of the call as it is, and nothing is written.
  std::function<void(const std::string&)> on_stage;
  /// Another thread sets it to end the call soon; null: none does. The call then returns an error that is_cancelled() knows,
  /// and nothing is written, unless the result was being published already. A run of ONNX Runtime and an extraction that have
  /// begun are ended by their own limits of time.
  const std::atomic<bool>* cancelled = nullptr;
  CompleteModel before_publishing;  // of what is written
  /// What models are run on, where it is not ONNX Runtime; null: that, or a device that is only described. It outlives
  /// the call.
  const Target* target = nullptr;

  /// Whether another thread has set `cancelled`.
  bool has_been_cancelled() const {
    return cancelled != nullptr && cancelled->load(std::memory_order_relaxed);
  }
  /// The target, if it has timers of its own.
  const Target* own_target() const {
    return target != nullptr && !target->is_onnx_runtime() ? target : nullptr;
  }
};

/// What was written.
enum class OptimizeStatus {
  optimized,   // a cheaper graph was written
  simplified,  // nothing cheaper was found; what was written has fewer nodes and is no slower
  unchanged,   // nothing cheaper was found, or it could not be checked: written as it was
  mismatch,    // every result failed its check: written as it was
};
std::string_view name(OptimizeStatus status);  // as reports have it: "optimized"

/// What optimize_model() did.
struct OptimizeReport {
  OptimizeStatus status = OptimizeStatus::unchanged;  // of the file that was written
  std::string message;                                // why nothing was done
  std::string warning;                // a result that was refused; what is written is another one
  std::int64_t opaque_operators = 0;  // of the model; they stay as they are
  GraphCost before, after;            // of the model and of what was written
  SearchFigures search;               // of the last search; `seconds`: of all searches
  CheckReport check;                  // of its result; `seconds`: of all checks
  TimingReport timing;                // empty if nothing was run
  /// The sizes of the inputs on which models were run, as "x:1,3,16,16 y:2"; empty: none was.
  std::string sizes;
  bool sizes_are_guessed = false;  // the model leaves some of them open, and nobody gave them
  CostReport costs;                // what was measured for the search
};

/// The message of the error of a call that was cancelled.
inline constexpr std::string_view cancelled_call = "the call was cancelled";
/// Whether the error says that the call was cancelled (OptimizeOptions::cancelled).
inline bool is_cancelled(const Error& error) { return error.message == cancelled_call; }

/// Reads `model`, searches, checks and writes `output`. The time is divided thus: the original is
/// computed for the check first, which tells how long the check of the result will take; that and the
/// time for writing are kept back, and for timing if that is wanted, and the rest is for the search. If a result fails its check, the
/// search is tried again with bitwise rules only, and then the original is written.
///
/// An error: nothing was written. It names the file, unless the call was cancelled. Several calls may run at once in a
/// process, with other output files. What a callback or a provider of costs throws comes out as it is, and nothing is written.
Result<OptimizeReport> optimize_model(const std::filesystem::path& model,
                                      const std::filesystem::path& output,
                                      const RuleDatabase& rules, const OperatorCosts& costs,
                                      const OptimizeOptions& options);

}  // namespace lemma
