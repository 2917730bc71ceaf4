#include "ir/files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

namespace lemma {

namespace {

tl::unexpected<Error> cannot(std::string_view what, const std::filesystem::path& path) {
  return bad_input(fmt::format("{}: cannot be {}: {}", path.string(), what, std::strerror(errno)));
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// Some file systems cannot flush a folder, which is no failure.
void flush_folder(const std::filesystem::path& folder, int (*flush)(int)) {
  const int file =
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  flush(file);
  ::close(file);
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
  return close();
}

Result<void> AtomicFile::close() {
  if (::close(std::exchange(file_, -1)) != 0) return cannot("written", target_);
  return {};
}

Result<void> AtomicFile::rename() {
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return cannot("replaced", target_);
  temporary_.clear();
  return {};
}

Result<void> AtomicFile::publish() {
  LEMMA_RETURN_IF_ERROR(rename());
  flush_folder(target_.parent_path(), ::fsync);
  return {};
}

Result<void> write_file_atomically(const std::filesystem::path& file, std::string_view contents) {
  LEMMA_ASSIGN_OR_RETURN(AtomicFile written, AtomicFile::create(file));
  LEMMA_RETURN_IF_ERROR(written.write(bytes_of(contents)));
  LEMMA_RETURN_IF_ERROR(written.finish());
  return written.publish();
}

Result<void> write_files_atomically(
    const std::filesystem::path& folder,
    std::span<const std::pair<std::string, std::string>> contents_by_name) {
  std::vector<AtomicFile> files;
  for (const auto& [name, contents] : contents_by_name) {
    LEMMA_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(folder / name));
    LEMMA_RETURN_IF_ERROR(file.write(bytes_of(contents)));
    LEMMA_RETURN_IF_ERROR(file.close());
    files.push_back(std::move(file));
  }
  flush_folder(folder, ::syncfs);
  for (AtomicFile& file : files) LEMMA_RETURN_IF_ERROR(file.rename());
  flush_folder(folder, ::fsync);
  return {};
}

Result<void> make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return bad_input(fmt::format("{}: cannot be made: {}", folder.string(), error.message()));
  return {};
}

}  // namespace lemma
