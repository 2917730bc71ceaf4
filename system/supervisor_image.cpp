#include "system/supervisor_image.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

namespace lemma {

namespace {

bool write_all(int file, std::span<const unsigned char> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

std::string path_of(int file) { return fmt::format("/proc/self/fd/{}", file); }

/// Opens what `writer` has written again, to execute it: a file that is open for writing is not executed. Closes
/// `writer`. Negative: it cannot be.
int opened_to_execute(int writer) {
  if (writer < 0) return -1;
  int file = -1;
  if (write_all(writer, supervisor_image) && fchmod(writer, 0700) == 0)
    file = ::open(path_of(writer).c_str(), O_RDONLY | O_CLOEXEC);
  const int error = errno;
  ::close(writer);
  errno = error;
  if (file >= 0 && access(path_of(file).c_str(), X_OK) != 0) {
    ::close(file);
    file = -1;
  }
  return file;
}

Result<int> open_image() {
  int file = opened_to_execute(memfd_create("lemma-supervisor", MFD_CLOEXEC));
  if (file < 0) {
    std::error_code ignored;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(ignored);
    file = opened_to_execute(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0700));
  }
  if (file < 0)
    return unsupported(
        fmt::format("no other program can be run: neither memory nor the temporary folder holds "
                    "files that can be executed: {}",
                    std::strerror(errno)));
  return file;
}

}  // namespace

Result<std::string> supervisor_file() {
  static const Result<int> file = open_image();
  if (!file) return tl::unexpected(file.error());
  return path_of(*file);
}

}  // namespace lemma
