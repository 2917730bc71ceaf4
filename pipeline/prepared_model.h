#pragma once
// From a model file to the model that is searched.

#include <filesystem>
#include <string>

#include "base/deadline.h"
#include "costmodel/operator_costs.h"
#include "frontend_onnx/model.h"
#include "pipeline/optimize_model.h"
#include "pipeline/optimized_bodies.h"

namespace lemma {

struct ReadModel {
  OnnxModel model;
  int own_operator_set = 0;  // of the file
  BodyExplanations bodies;   // why bodies refine those that they replace
  std::string note;  // for people: what was asked for and is not done, what would help; or empty
};

/// Reads the file. Where a search follows, the branches of conditions that are constants are taken, and bodies are
/// optimized. The operator set is the one that is asked for. Sizes that ONNX Runtime does not load the model with become
/// sizes of the check alone, in `options` too.
Result<ReadModel> read_and_prepare(const std::filesystem::path& file,
                                   const std::filesystem::path& output, const RuleDatabase& rules,
                                   const OperatorCosts& costs, OptimizeOptions& options,
                                   const Deadline& deadline);

}  // namespace lemma
