#pragma once
// Files that appear complete or not at all: written under a temporary name in their folder, flushed to the
// device, then renamed.

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/result.h"

namespace lemma {

class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::filesystem::path& target);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  /// Removes the temporary file unless it was published.
  ~AtomicFile();

  Result<void> write(std::span<const std::byte> bytes);
  /// Zeros up to the offset.
  Result<void> pad_to(std::uint64_t offset);
  /// Flushes to the device, so that publish() cannot put an incomplete file in place.
  Result<void> finish();
  /// Puts it in place; the folder is flushed too.
  Result<void> publish();

 private:
  friend Result<void> write_files_atomically(
      const std::filesystem::path& folder,
      std::span<const std::pair<std::string, std::string>> contents_by_name);
  Result<void> close();   // finish() without flushing
  Result<void> rename();  // publish() without flushing
  AtomicFile(int file, std::filesystem::path temporary, std::filesystem::path target)
      : file_(file), temporary_(std::move(temporary)), target_(std::move(target)) {}
  int file_ = -1;
  std::uint64_t written_ = 0;
  std::filesystem::path temporary_;  // empty once published
  std::filesystem::path target_;
};

/// The file has the new contents or, on any failure, is as it was.
Result<void> write_file_atomically(const std::filesystem::path& file, std::string_view contents);

/// The same for each of many files of one folder, which are flushed together.
Result<void> write_files_atomically(
    const std::filesystem::path& folder,
    std::span<const std::pair<std::string, std::string>> contents_by_name);

/// With the folders above it; no error if it is there.
Result<void> make_folder(const std::filesystem::path& folder);

}  // namespace lemma
