#include "frontend_onnx/atomic_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

namespace lemma::frontend {

namespace {

tl::unexpected<Error> cannot(std::string_view what, const std::filesystem::path& path) {
  return bad_input(fmt::format("{}: cannot be {}: {}", path.string(), what, std::strerror(errno)));
}

}  // namespace

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& target) {
  for (int attempt = 0;; ++attempt) {
    std::filesystem::path temporary = target;
    temporary.replace_filename(
        fmt::format(".{}.{}.{}.tmp", target.filename().string(), ::getpid(), attempt));
    const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0) return AtomicFile(file, std::move(temporary), target);
    if (errno != EEXIST || attempt == 1000) return cannot("written", target);
  }
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      written_(other.written_),
      temporary_(std::exchange(other.temporary_, {})),
      target_(std::move(other.target_)) {}

AtomicFile::~AtomicFile() {
  if (file_ >= 0) ::close(file_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<void> AtomicFile::write(std::span<const std::byte> bytes) {
  constexpr std::size_t chunk = 64U << 20;
  while (!bytes.empty()) {
    const ssize_t count = ::write(file_, bytes.data(), std::min(bytes.size(), chunk));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot("written", target_);
    written_ += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Result<void> AtomicFile::pad_to(std::uint64_t offset) {
  static constexpr std::array<std::byte, 4096> zeros{};
  while (written_ < offset) {
    const auto count = std::min<std::uint64_t>(offset - written_, zeros.size());
    LEMMA_RETURN_IF_ERROR(write(std::span(zeros).first(count)));
  }
  return {};
}

Result<void> AtomicFile::finish() {
  if (::fdatasync(file_) != 0 && errno != EINVAL && errno != ENOTSUP)
    return cannot("written", target_);
  if (::close(std::exchange(file_, -1)) != 0) return cannot("written", target_);
  return {};
}

Result<void> AtomicFile::publish() {
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return cannot("replaced", target_);
  temporary_.clear();
  return {};
}

}  // namespace lemma::frontend
