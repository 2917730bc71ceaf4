#include "pipeline/staged_model.h"

#include <fmt/format.h>

#include "outputs/files.h"

namespace lemma {

namespace fs = std::filesystem;

Result<StagedModel> StagedModel::write(const OnnxModel& model, const fs::path& target,
                                       const ExportOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(const OutputTarget place, output_target(target));
  if (place.is_stream()) return bad_input(fmt::format("{}: is no regular file", target.string()));
  const fs::path parent = folder_of(place.path);
  // A folder that cannot be made shows in the next step, with the reason.
  std::error_code ignored;
  fs::create_directories(parent, ignored);
  auto folder = StagedEntry::directory(parent);
  if (!folder)
    return bad_input(
        fmt::format("{}: cannot be written: {}", target.string(), folder.error().message));
  const fs::path file = folder->path() / place.path.filename();
  StagedModel staged(std::move(*folder), file, place.path);
  auto written = export_model(model, staged.file_, options);
  if (written) {
    staged.exported_ = std::move(*written);
    return staged;
  }
  std::string& message = written.error().message;
  const std::string shown = staged.file_.string();
  for (std::size_t at = 0; (at = message.find(shown, at)) != std::string::npos;)
    message.replace(at, shown.size(), target.string());
  return tl::unexpected(std::move(written.error()));
}

Result<void> StagedModel::publish(const CompleteModel& before_publishing) {
  LEMMA_RETURN_IF_ERROR(publish_exported(exported_, file_, folder_of(target_)));
  if (before_publishing) before_publishing(file_, folder_of(target_));
  LEMMA_RETURN_IF_ERROR(rename_over(file_, target_));
  flush_folder(folder_of(target_));
  return {};
}

}  // namespace lemma
