#pragma once
// An If whose condition depends on constants alone stands for one of its branches.

#include <filesystem>

#include "frontend_onnx/import.h"
#include "frontend_onnx/model.h"
#include "search/fold_constants.h"

namespace lemma {

/// The model with such branches in place of their nodes, also of those that only show in a branch that was
/// taken. Constants are folded then. The model as it is where that cannot be done.
OnnxModel with_taken_branches(OnnxModel model, const std::filesystem::path& folder,
                              const ImportOptions& reading, const FoldOptions& folding);

}  // namespace lemma
