#include "outputs/scratch.h"

#include <cstdlib>

#include <fmt/format.h>

namespace lemma {

namespace fs = std::filesystem;

TemporaryDirectory::TemporaryDirectory() {
  std::error_code error;
  const char* const given = std::getenv(scratch_variable);
  const fs::path place =
      given != nullptr && *given != 0 ? fs::path(given) : fs::temp_directory_path(error);
  if (error) return;
  auto made = StagedEntry::directory(place);
  if (!made) return;
  path_ = made->path();
  entry_.emplace(std::move(*made));
}

Result<void> TemporaryDirectory::require() const {
  if (good()) return {};
  const char* const folder = std::getenv("TMPDIR");
  return unsupported(
      fmt::format("no temporary folder can be made in {}; TMPDIR names another place",
                  folder == nullptr ? "/tmp" : folder));
}

}  // namespace lemma
