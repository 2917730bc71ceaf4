#pragma once
// Lays out a model as the bytes of an ONNX file.

#include <set>
#include <string>
#include <string_view>

#include "frontend_onnx/model.h"
#include "frontend_onnx/tensor_writer.h"

namespace lemma::frontend {

struct LayoutOptions {
  DataFile* data_file = nullptr;  // none: all data stands in the model
  std::size_t external_threshold = 0;
  bool all_external = false;      // see TensorWriter
  std::string_view runtime = "";  // whose own operators may be written
  /// Takes the names of the first outputs of opaque nodes; null: they are not wanted.
  std::set<std::string, std::less<>>* opaque_outputs = nullptr;
  /// Operations in the order in which they are written, some of them repeatedly; null: in that of the graph.
  const std::vector<NodeId>* order = nullptr;
};

/// The ModelProto. Tensor data is referred to, so the result must not outlive the model.
Result<Rope> lay_out(const OnnxModel& model, const LayoutOptions& options);

}  // namespace lemma::frontend
