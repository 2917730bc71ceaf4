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

}  // namespace lemma
