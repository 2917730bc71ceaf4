#pragma once
// From a model as it was read to the one that is searched.

#include <filesystem>

#include "base/deadline.h"
#include "costmodel/operator_costs.h"
#include "frontend_onnx/model.h"
#include "pipeline/optimize_model.h"
#include "pipeline/optimized_bodies.h"

namespace lemma {

/// With the branches of conditions that are constants taken, and better bodies; `bodies` says why those
/// refine what they replace. `file`: of the model, beside which its external data is.
Result<OnnxModel> prepared_model(OnnxModel read, const std::filesystem::path& file,
                                 const RuleDatabase& rules, const OperatorCosts& costs,
                                 const OptimizeOptions& options, const Deadline& deadline,
                                 BodyExplanations& bodies);

}  // namespace lemma
