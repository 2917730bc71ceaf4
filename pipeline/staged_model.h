#pragma once
// A model that is written beside its place, read back and looked at before it takes the place.

#include <filesystem>

#include "frontend_onnx/export.h"
#include "frontend_onnx/import.h"
#include "ir/result.h"

namespace lemma {

class StagedModel {
 public:
  /// Writes to a new folder beside `target`, under the same file names. The folder of `target` is
  /// made if it is not there.
  static Result<StagedModel> write(const OnnxModel& model, const std::filesystem::path& target,
                                   const ExportOptions& options);
  StagedModel(StagedModel&& other) noexcept;
  StagedModel& operator=(StagedModel&&) = delete;
  /// Removes what was not published.
  ~StagedModel();

  const std::filesystem::path& file() const { return file_; }
  const std::filesystem::path& folder() const { return folder_; }

  /// The model as the file holds it. An error: it is no other reading of `written`.
  Result<OnnxModel> read_back(const Graph& written, const ImportOptions& options) const;

  /// Moves the files to their place; each appears complete.
  Result<void> publish();

 private:
  StagedModel(std::filesystem::path folder, std::filesystem::path target);
  std::filesystem::path folder_, file_, target_;
};

}  // namespace lemma
