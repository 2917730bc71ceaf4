#include "outputs/scratch.h"

#include <cstdlib>

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

}  // namespace lemma
