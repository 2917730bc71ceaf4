#pragma once
// What a result has to pass before it takes its original's place.

#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "pipeline/chosen_rules.h"
#include "pipeline/optimize_model.h"
#include "pipeline/staged_model.h"
#include "pipeline/trace.h"

namespace lemma {

/// Constants for symbols.
using SampleSizes = std::map<std::string, std::int64_t, std::less<>>;

/// How original and result are compared, in these sizes, and until when.
SampledCheckOptions check_options(const OptimizeOptions& options, const SampleSizes& sizes,
                                  const Deadline& deadline);

bool asks_second_judge(const OptimizeOptions& options);

/// What the second judge may take for loading both models, and for all sets unless the model is slow. 0: it is not
/// asked. `original_seconds`: of one run of the original.
double second_judge_allowance(const OptimizeOptions& options, double original_seconds,
                              double writing_seconds);

struct ResultCheckRequest {
  const OnnxModel& original;
  const std::filesystem::path& file;  // of the original
  const OptimizeOptions& options;
  const RuleNamesAndTexts& rules;
  const SampledReference& reference;  // of the original
  const SampleSizes& sizes;
  OnnxRuntimeWorker* worker = nullptr;  // null: no second judge is asked
  std::span<const interpreter::NamedTensor>
      inputs;                         // that ONNX Runtime runs the original on, if any are known
  std::int64_t opaque_operators = 0;  // of the original
  double original_seconds = 0;        // of one run
  double writing_seconds = 0;         // of the model
  Deadline deadline;                  // of the comparison
  Deadline second_judge_deadline;
};

struct ResultObjection {
  std::string message;     // empty: the result may be written
  std::string impossible;  // why it could not be checked, which is not the result's fault
};

/// Looks at the graph, its explanation, the file, and what both compute. An objection is the first that was found.
/// The graph that the file holds is added to the trace.
ResultObjection objection_to(const SearchResult& found, const StagedModel& staged,
                             const ResultCheckRequest& request, Trace& trace, CheckReport& report);

}  // namespace lemma
