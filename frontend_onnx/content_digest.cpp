#include "frontend_onnx/content_digest.h"

#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/sha256.h"
#include "base/version.h"
#include "frontend_onnx/copy.h"
#include "frontend_onnx/file_mapping.h"

namespace lemma {

namespace fs = std::filesystem;

namespace {

fs::path beside(const fs::path& model, const std::string& location) {
  return model.parent_path() / location;
}

}  // namespace

std::string file_state(const fs::path& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return "missing";
  return fmt::format("{} {} {} {}.{:09} {}.{:09}", status.st_dev, status.st_ino, status.st_size,
                     status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec,
                     status.st_ctim.tv_nsec);
}

Result<std::string> file_digest(const fs::path& file) {
  auto mapped = frontend::FileMapping::open(file);
  if (!mapped) return tl::unexpected(with_context(file.string(), std::move(mapped.error())));
  const std::span<const std::byte> bytes = (*mapped)->bytes();
  return sha256({reinterpret_cast<const char*>(bytes.data()), bytes.size()});  // NOLINT: bytes
}

Result<std::string> folder_digest(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->is_regular_file()) files.push_back(entry->path());
  if (error) return bad_input(fmt::format("{}: {}", folder.string(), error.message()));
  std::sort(files.begin(), files.end());
  std::string all;
  for (const fs::path& file : files) {
    LEMMA_ASSIGN_OR_RETURN(const std::string digest, file_digest(file));
    all += fmt::format("{} {}\n", digest, file.lexically_relative(folder).string());
  }
  return sha256(all);
}

Result<std::string> model_digest(const fs::path& model) {
  return model_digest(model, model.parent_path());
}

Result<std::string> model_digest(const fs::path& model, const fs::path& data_folder) {
  LEMMA_ASSIGN_OR_RETURN(std::string all, file_digest(model));
  LEMMA_ASSIGN_OR_RETURN(const auto locations, external_locations(model));
  for (const std::string& location : locations) {
    const auto digest = file_digest(data_folder / location);
    all += fmt::format("\n{} {}", digest ? *digest : "missing", location);
  }
  return sha256(all);
}

std::string model_state(const fs::path& model) {
  const auto locations = external_locations(model);
  if (!locations) return "";
  std::string state = file_state(model) + "\n";
  for (const std::string& location : *locations)
    state += file_state(beside(model, location)) + "\n";
  return state;
}

Result<std::string> program_digest() {
  LEMMA_ASSIGN_OR_RETURN(const std::string program, file_digest("/proc/self/exe"));
  return sha256(fmt::format("{} {}", version(), program));
}

}  // namespace lemma
