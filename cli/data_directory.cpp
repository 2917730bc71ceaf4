#include "cli/data_directory.h"

#include <cstdlib>
#include <system_error>

namespace lemma {

std::filesystem::path data_directory() {
  if (const char* chosen = std::getenv("LEMMA_DATA")) return chosen;
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "share" / "lemma";
}

std::string python_program() {
  // In a checkout the data folder is BUILD/share/lemma, with BUILD two folders below the root.
  const std::filesystem::path checkout =
      std::filesystem::weakly_canonical(data_directory() / "../../../..");
  std::error_code ignored;
  const std::filesystem::path own = checkout / ".venv/bin/python3";
  return std::filesystem::exists(own, ignored) ? own.string() : "python3";
}

}  // namespace lemma
