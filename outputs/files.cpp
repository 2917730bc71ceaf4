#include "outputs/files.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace lemma {

namespace fs = std::filesystem;

namespace {

tl::unexpected<Error> cannot(std::string_view what, const fs::path& path) {
  return bad_input(fmt::format("{}: cannot be {}: {}", path.string(), what, std::strerror(errno)));
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

void flush(const fs::path& folder, int (*how)(int)) {
  const int file =
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  how(file);
  ::close(file);
}

/// Permissions as they are to be, before there is a name by which others could open the file.
Result<void> take_permissions(int descriptor, const fs::path& target, const fs::path& shown,
                              const OutputOptions& options) {
  struct stat old {};
  const bool replaces = ::stat(target.c_str(), &old) == 0;
  if (replaces && (old.st_uid != ::geteuid() || old.st_gid != ::getegid()))
    if (::fchown(descriptor, old.st_uid, old.st_gid) != 0) errno = 0;  // only root may
  if (!options.permissions && !replaces) return {};
  const auto wanted = options.permissions ? static_cast<mode_t>(*options.permissions) : old.st_mode;
  // File systems without permissions refuse, and have nothing to keep secret by them.
  if (::fchmod(descriptor, wanted & 0777U) != 0 && errno != EPERM && errno != ENOTSUP)
    return cannot("written", shown);
  return {};
}

}  // namespace

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

Result<OutputFile> OutputFile::create(const fs::path& target, const OutputOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(OutputTarget output, output_target(target));
  OutputFile file(target);
  file.target_ = std::move(output.path);
  if (output.kind == OutputTarget::Kind::descriptor) {
    file.stream_ = ::fcntl(output.descriptor, F_DUPFD_CLOEXEC, 0);
  } else if (output.kind == OutputTarget::Kind::device) {
    file.stream_ = ::open(file.target_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  } else {
    std::error_code ignored;
    const bool is_private = options.permissions || fs::exists(file.target_, ignored);
    auto staged = StagedEntry::file(folder_of(file.target_), is_private ? 0600 : 0666);
    if (!staged)
      return bad_input(
          fmt::format("{}: cannot be written: {}", target.string(), staged.error().message));
    LEMMA_RETURN_IF_ERROR(
        take_permissions(staged->descriptor(), file.target_, file.shown_, options));
    file.staged_.emplace(std::move(*staged));
  }
  if (file.descriptor() < 0) return cannot("written", target);
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : staged_(std::move(other.staged_)),
      stream_(std::exchange(other.stream_, -1)),
      written_(other.written_),
      target_(std::move(other.target_)),
      shown_(std::move(other.shown_)) {
  other.staged_.reset();
}

OutputFile::~OutputFile() {
  if (stream_ >= 0) ::close(stream_);
}

Result<void> OutputFile::write(std::span<const std::byte> bytes) {
  constexpr std::size_t chunk = 64U << 20;
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor(), bytes.data(), std::min(bytes.size(), chunk));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot("written", shown_);
    written_ += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Result<void> OutputFile::pad_to(std::uint64_t offset) {
  static constexpr std::array<std::byte, 4096> zeros{};
  while (written_ < offset) {
    const auto count = std::min<std::uint64_t>(offset - written_, zeros.size());
    LEMMA_RETURN_IF_ERROR(write(std::span(zeros).first(count)));
  }
  return {};
}

Result<void> OutputFile::finish() {
  // Devices and FIFOs cannot be flushed.
  if (staged_ && ::fdatasync(descriptor()) != 0 && errno != EINVAL && errno != ENOTSUP)
    return cannot("written", shown_);
  return {};
}

Result<void> OutputFile::publish() {
  if (!staged_) {
    if (::close(std::exchange(stream_, -1)) != 0) return cannot("written", shown_);
    return {};
  }
  // The lock is held until the file has its name: nobody takes it for an abandoned one.
  if (::rename(staged_->path().c_str(), target_.c_str()) != 0) return cannot("replaced", shown_);
  staged_->keep();
  if (staged_->close() != 0) return cannot("written", shown_);
  flush(folder_of(target_), ::fsync);
  return {};
}

Result<bool> OutputFile::publish_new(const fs::path& name) {
  if (!staged_) return bad_input(fmt::format("{}: is no regular file", shown_.string()));
  const fs::path place = folder_of(target_) / name;
  LEMMA_ASSIGN_OR_RETURN(const bool is_new, rename_new(staged_->path(), place));
  if (!is_new) return false;
  staged_->keep();
  if (staged_->close() != 0) return cannot("written", place);
  flush(folder_of(target_), ::fsync);
  return true;
}

Result<void> write_file_atomically(const fs::path& file, std::string_view contents,
                                   const OutputOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(OutputFile written, OutputFile::create(file, options));
  LEMMA_RETURN_IF_ERROR(written.write(bytes_of(contents)));
  LEMMA_RETURN_IF_ERROR(written.finish());
  return written.publish();
}

Result<void> write_files_atomically(
    const fs::path& folder, std::span<const std::pair<std::string, std::string>> contents_by_name) {
  // One staged folder for all: a descriptor for each file would be too many.
  const auto staged = StagedEntry::directory(folder);
  if (!staged)
    return bad_input(
        fmt::format("{}: cannot be written: {}", folder.string(), staged.error().message));
  std::vector<std::pair<fs::path, fs::path>> moves;
  for (const auto& [name, contents] : contents_by_name) {
    LEMMA_ASSIGN_OR_RETURN(const OutputTarget target, output_target(folder / name));
    if (target.is_stream() || target.path != folder / name) {
      LEMMA_RETURN_IF_ERROR(write_file_atomically(folder / name, contents));
      continue;
    }
    struct stat place {};
    if (::stat(folder_of(target.path).c_str(), &place) != 0)
      return cannot("written", folder / name);
    const fs::path part = staged->path() / std::to_string(moves.size());
    const int file = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) return cannot("written", folder / name);
    auto taken = take_permissions(file, target.path, folder / name, {});
    for (std::string_view rest = contents; taken && !rest.empty();) {
      const ssize_t count = ::write(file, rest.data(), rest.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0)
        taken = cannot("written", folder / name);
      else
        rest.remove_prefix(static_cast<std::size_t>(count));
    }
    if (::close(file) != 0 && taken) taken = cannot("written", folder / name);
    LEMMA_RETURN_IF_ERROR(taken);
    moves.emplace_back(part, target.path);
  }
  flush(folder, ::syncfs);
  for (const auto& [part, target] : moves) LEMMA_RETURN_IF_ERROR(rename_over(part, target));
  flush(folder, ::fsync);
  return {};
}

Result<bool> rename_new(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno == EEXIST) return false;
  if (errno != EINVAL && errno != ENOSYS) return cannot("written", to);
  // A file system without such a rename: a second name, which is never given over another.
  std::error_code error;
  if (!fs::is_directory(from, error)) {
    if (::link(from.c_str(), to.c_str()) == 0) {
      ::unlink(from.c_str());
      return true;
    }
    if (errno == EEXIST) return false;
    if (errno != EPERM && errno != ENOTSUP) return cannot("written", to);
    const int place = ::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (place < 0 && errno == EEXIST) return false;
    if (place < 0) return cannot("written", to);
    ::close(place);
  } else if (::mkdir(to.c_str(), 0700) != 0) {
    if (errno == EEXIST) return false;
    return cannot("written", to);
  }
  // What stands there is ours, and empty.
  if (::rename(from.c_str(), to.c_str()) == 0) return true;
  const int reason = errno;
  fs::remove(to, error);
  errno = reason;
  return cannot("written", to);
}

Result<void> rename_over(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return cannot("replaced", to);
  return {};
}

void remove_file(const fs::path& file) {
  const auto target = output_target(file);
  if (target && !target->is_stream()) ::unlink(target->path.c_str());
}

void flush_folder(const fs::path& folder) { flush(folder, ::fsync); }

fs::path home_folder() {
  const char* const given = std::getenv("HOME");
  fs::path home = given == nullptr ? "" : given;
  if (home.empty()) {
    std::array<char, 4096> buffer{};
    passwd entry{};
    passwd* user = nullptr;
    if (::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &user) == 0 &&
        user != nullptr)
      home = user->pw_dir;
  }
  return home.is_absolute() ? home : fs::path();
}

Result<void> make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return bad_input(fmt::format("{}: cannot be made: {}", folder.string(), error.message()));
  return {};
}

}  // namespace lemma
