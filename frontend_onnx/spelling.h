#pragma once
// What a file cannot say in one node, said in several.

#include <string_view>

#include "frontend_onnx/model.h"

namespace lemma::frontend {

/// Operations that have no form in the model's operator set, be it standard or of `runtime`, are replaced by others
/// that mean the same: as their records spell them, or as they are composed. What has neither stays.
/// Whether there are any that are replaced.
bool needs_spelling(const OnnxModel& model, std::string_view runtime);
Result<OnnxModel> spelled(const OnnxModel& model, std::string_view runtime);

}  // namespace lemma::frontend
