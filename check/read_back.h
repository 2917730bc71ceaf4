#pragma once
// A model file that was written, read again.

#include <filesystem>

#include "frontend_onnx/import.h"

namespace lemma {

/// The model as the file holds it. An error: the file holds no graph of the same structure as `written`. `opaque_outputs`:
/// of the nodes that were opaque when it was written (ExportedModel).
Result<OnnxModel> read_back(const std::filesystem::path& file, const Graph& written,
                            const std::set<std::string, std::less<>>& opaque_outputs,
                            const ImportOptions& options);

}  // namespace lemma
