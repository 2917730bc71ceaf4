#include "pipeline/staged_model.h"

#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include "ir/same_structure.h"

namespace lemma {

namespace fs = std::filesystem;

StagedModel::StagedModel(fs::path folder, fs::path target)
    : folder_(std::move(folder)), file_(folder_ / target.filename()), target_(std::move(target)) {}

StagedModel::StagedModel(StagedModel&& other) noexcept
    : folder_(std::move(other.folder_)),
      file_(std::move(other.file_)),
      target_(std::move(other.target_)) {
  other.folder_.clear();
}

StagedModel::~StagedModel() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

Result<StagedModel> StagedModel::write(const OnnxModel& model, const fs::path& target,
                                       const ExportOptions& options) {
  const fs::path parent = target.has_parent_path() ? target.parent_path() : fs::path(".");
  // A folder that cannot be made shows in the next step, with the reason.
  std::error_code ignored;
  fs::create_directories(parent, ignored);
  std::string name = (parent / ".lemma-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr)
    return bad_input(fmt::format("{}: cannot be written: {}", target.string(),
                                 std::error_code(errno, std::generic_category()).message()));
  StagedModel staged(name, target);
  auto written = export_model(model, staged.file_, options);
  if (written) return staged;
  std::string& message = written.error().message;
  const std::string shown = staged.file_.string();
  for (std::size_t at = 0; (at = message.find(shown, at)) != std::string::npos;)
    message.replace(at, shown.size(), target.string());
  return tl::unexpected(std::move(written.error()));
}

Result<OnnxModel> StagedModel::read_back(const Graph& written, const ImportOptions& options) const {
  ImportOptions as_written = options;
  as_written.takes_branches = false;  // of an If whose condition has become constant
  LEMMA_ASSIGN_OR_RETURN(OnnxModel model, import_model(file_, as_written));
  LEMMA_RETURN_IF_ERROR(check_same_structure(written, model.graph));
  take_labels(written, model.graph);
  return model;
}

Result<void> StagedModel::publish() {
  std::error_code error;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder_, error))
    if (entry.path() != file_) files.push_back(entry.path());
  files.push_back(file_);  // last: what it refers to is there already
  for (const fs::path& file : files) {
    fs::rename(file, target_.parent_path() / file.filename(), error);
    if (error)
      return bad_input(fmt::format("{}: cannot be written: {}", target_.string(), error.message()));
  }
  return {};
}

}  // namespace lemma
