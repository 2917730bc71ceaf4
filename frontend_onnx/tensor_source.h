#pragma once
// Where the data of a model's tensors is: in the model file, or in files beside it.

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "frontend_onnx/file_mapping.h"
#include "frontend_onnx/messages.h"
#include "frontend_onnx/rope.h"
#include "ir/constant.h"

namespace lemma::frontend {

class TensorSource {
 public:
  TensorSource(SharedBytes model, std::filesystem::path folder, bool allow_external)
      : model_(std::move(model)), folder_(std::move(folder)), allow_external_(allow_external) {}

  /// Data of a tensor that is not in its message: it was stripped, or is external. Nothing for the
  /// others. Locations outside the model's folder, also through symbolic links, are refused.
  Result<std::optional<SharedBytes>> locate(const ::onnx::TensorProto& tensor) const;
  bool opened_external_files() const;

 private:
  Result<SharedBytes> stripped(std::string_view reference) const;
  Result<SharedBytes> external(const ::onnx::TensorProto& tensor) const;
  Result<std::shared_ptr<const FileMapping>> open(const std::string& location) const;

  SharedBytes model_;
  std::filesystem::path folder_;
  bool allow_external_ = true;
  mutable std::mutex mutex_;  // guards files_
  mutable std::map<std::string, std::shared_ptr<const FileMapping>> files_;
};

/// `unsupported` for tensors that a Constant cannot hold (strings, unknown element types).
Result<Constant> constant_from(const ::onnx::TensorProto& tensor, const TensorSource& source);

}  // namespace lemma::frontend
