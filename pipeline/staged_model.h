#pragma once
// A model that is written beside its place, so that it can be looked at before it takes the place.

#include <filesystem>
#include <optional>

#include "base/result.h"
#include "frontend_onnx/copy.h"
#include "frontend_onnx/export.h"
#include "outputs/staging.h"

namespace lemma {

class StagedModel {
 public:
  /// Writes to a new folder beside `target`, under the same file name. The folder of `target` is
  /// made if it is not there.
  static Result<StagedModel> write(const OnnxModel& model, const std::filesystem::path& target,
                                   const ExportOptions& options);

  const std::filesystem::path& file() const { return file_; }
  const ExportedModel& exported() const { return exported_; }
  /// Holds the files until they are published, and what else is needed meanwhile.
  const std::filesystem::path& folder() const { return folder_.path(); }

  /// Moves the files to their place, the data file first: each appears complete, and data never replaces anything.
  Result<void> publish(const CompleteModel& before_publishing = nullptr);

 private:
  StagedModel(StagedEntry folder, std::filesystem::path file, std::filesystem::path target)
      : folder_(std::move(folder)), file_(std::move(file)), target_(std::move(target)) {}

  StagedEntry folder_;
  std::filesystem::path file_, target_;
  ExportedModel exported_;
};

}  // namespace lemma
