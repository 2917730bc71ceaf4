#pragma once
// A file that appears complete or not at all: written under a temporary name in its folder, then
// renamed.

#include <filesystem>
#include <span>

#include "ir/result.h"

namespace lemma::frontend {

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
  Result<void> publish();

 private:
  AtomicFile(int file, std::filesystem::path temporary, std::filesystem::path target)
      : file_(file), temporary_(std::move(temporary)), target_(std::move(target)) {}
  int file_ = -1;
  std::uint64_t written_ = 0;
  std::filesystem::path temporary_;  // empty once published
  std::filesystem::path target_;
};

}  // namespace lemma::frontend
