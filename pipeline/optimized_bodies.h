#pragma once
// Branches of If and bodies of Loop and Scan are optimized like models, each on its own: what they capture are
// inputs. They are checked like models too.

#include <filesystem>
#include <string>

#include "base/deadline.h"
#include "costmodel/operator_costs.h"
#include "frontend_onnx/model.h"
#include "pipeline/optimize_model.h"

namespace lemma {

/// Why the bodies that were taken refine those of the model, one after the other: the lines
/// `body "PLACE"` and then an explanation (docs/certificates.md, "Explanations").
using BodyExplanations = std::string;

/// The model with better bodies where some were found by then; the model as it is otherwise. Rules that change
/// more than bits are used only where all that a body is given is known to be defined and finite.
OnnxModel with_optimized_bodies(OnnxModel model, const std::filesystem::path& folder,
                                const RuleDatabase& rules, const OperatorCosts& costs,
                                const OptimizeOptions& options, const Deadline& deadline,
                                BodyExplanations& explanations);

}  // namespace lemma
