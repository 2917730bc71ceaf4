#include "cli/atomic_file.h"

#include <unistd.h>

#include <fstream>

#include <fmt/format.h>

namespace lemma {

Result<void> write_file_atomically(const std::filesystem::path& file, std::string_view contents) {
  std::filesystem::path temporary = file;
  temporary += fmt::format(".{}.partial", getpid());
  std::error_code error;
  {
    std::ofstream stream(temporary, std::ios::binary);
    stream.write(contents.data(), static_cast<std::streamsize>(contents.size()));
    stream.close();
    if (!stream) {
      std::filesystem::remove(temporary, error);
      return bad_input(fmt::format("{}: cannot be written", file.string()));
    }
  }
  std::filesystem::rename(temporary, file, error);
  if (!error) return {};
  const std::string reason = error.message();
  std::filesystem::remove(temporary, error);
  return bad_input(fmt::format("{}: cannot be written: {}", file.string(), reason));
}

}  // namespace lemma
