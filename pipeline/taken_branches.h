#pragma once
// Nodes that are understood once constants are computed: an If whose condition depends on constants alone stands for one
// of its branches, and an operator takes a parameter from a constant that import has not computed.

#include <filesystem>

#include "frontend_onnx/import.h"
#include "frontend_onnx/model.h"
#include "search/fold_constants.h"

namespace lemma {

/// The model with such branches in place of their nodes, also of those that only show in a branch that was
/// taken, and with such operators in place of opaque nodes. Constants are folded then. The model as it is where that
/// cannot be done. `folder` is that of the model's file.
OnnxModel with_taken_branches(OnnxModel model, const std::filesystem::path& folder,
                              const ImportOptions& reading, const FoldOptions& folding);

}  // namespace lemma
