#include "outputs/unnamed_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "outputs/scratch.h"

namespace lemma {
namespace {

tl::unexpected<Error> failure(const char* what) {
  return bad_input(std::string("a temporary file cannot be ") + what + ": " + std::strerror(errno));
}

}  // namespace

UnnamedFile::UnnamedFile(UnnamedFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), size_(std::exchange(other.size_, 0)) {}

UnnamedFile& UnnamedFile::operator=(UnnamedFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

UnnamedFile::~UnnamedFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

Result<std::uint64_t> UnnamedFile::append(const void* bytes, std::size_t count) {
  if (descriptor_ < 0) {
    // The file is in use until it is closed, but its directory is removed at once.
    const TemporaryDirectory directory;
    LEMMA_RETURN_IF_ERROR(directory.require());
    const std::string path = (directory.path() / "spill").string();
    descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor_ < 0) return failure("made");
  }
  const std::uint64_t begin = size_;
  const auto* at = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = pwrite(descriptor_, at, count, static_cast<off_t>(size_));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failure("written");
    at += written;
    size_ += static_cast<std::uint64_t>(written);
    count -= static_cast<std::size_t>(written);
  }
  return begin;
}

Result<void> UnnamedFile::read(std::uint64_t offset, void* bytes, std::size_t count) const {
  auto* at = static_cast<char*>(bytes);
  while (count > 0) {
    const ssize_t done = pread(descriptor_, at, count, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return failure("read");
    at += done;
    offset += static_cast<std::uint64_t>(done);
    count -= static_cast<std::size_t>(done);
  }
  return {};
}

}  // namespace lemma
