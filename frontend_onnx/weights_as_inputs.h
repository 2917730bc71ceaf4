#pragma once
// Models whose weights are inputs, as training needs them: two weights of equal contents are two values then.

#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include "frontend_onnx/import.h"

namespace lemma {

/// Whether an initializer of this name and type is to be an input of the graph. A statistic is a mean or a variance of a batch
/// normalization.
using IsWeight =
    std::function<bool(const std::string& name, const TensorType& type, bool is_statistic)>;

struct ModelWithWeights {
  OnnxModel model;
  std::set<std::string, std::less<>> weights;  // names of the inputs that are weights
};

/// Reads a file of up to 2 GiB, external data apart.
Result<ModelWithWeights> import_with_weights(const std::filesystem::path& path,
                                             const IsWeight& is_weight,
                                             const ImportOptions& options = {});

}  // namespace lemma
