#pragma once
// The original, computed for the check of its results, and inputs that it can be run on.

#include <span>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "check/sampled_check.h"
#include "check/usual_sizes.h"
#include "pipeline/job.h"

namespace lemma {

struct OriginalRun {
  SampledReference reference;
  double seconds = 0;  // that computing it took
};

/// Runs the original in at most 0.45 of the time that is left: the result has to be computed too. Where there is a second
/// judge, it is 0.3, and if that is not enough, that judge alone compares. An error says why no check is possible.
Result<OriginalRun> run_original(const Job& job, const Deadline& deadline);

struct ModelInputs {
  std::vector<interpreter::NamedTensor> values;  // empty: there are none
  /// Inputs of other sizes that are usual, where the model leaves some open and ONNX Runtime runs it on these too; else
  /// empty.
  std::vector<interpreter::NamedTensor> of_other_sizes;
  bool run_in_onnx_runtime = false;  // it runs the original on them
  std::string message;               // why there are none
  /// ONNX Runtime is there and runs the original on none that were tried, so that no result can be timed; `message`
  /// says what it said.
  bool is_not_runnable = false;
};

/// Their sizes, as "x:1,3,16,16 y:2".
std::string sizes_of(std::span<const interpreter::NamedTensor> inputs);

/// What the open sizes of the model are in these inputs. Empty: they do not say.
DimensionBindings symbols_in(const Job& job, std::span<const interpreter::NamedTensor> inputs);

/// Inputs for what is timed, `models` being what runs it; null: nothing is run.
ModelInputs find_inputs(const Job& job, const SampledReference& reference, const ModelTimer* models,
                        const Deadline& deadline);

}  // namespace lemma
