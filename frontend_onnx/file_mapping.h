#pragma once
// A file mapped into memory, read-only.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "base/result.h"

namespace lemma::frontend {

class FileMapping {
 public:
  static Result<std::shared_ptr<const FileMapping>> open(const std::filesystem::path& path);
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;
  ~FileMapping();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  FileMapping(std::span<const std::byte> bytes, const std::filesystem::path& path);
  std::span<const std::byte> bytes_;
};

/// The path of the file that is mapped at an address, as far as it can be printed; null if none is. May be called by
/// handlers of signals: a file that was cut after it was mapped raises SIGBUS where it is read.
const char* mapped_file_at(const void* address);

}  // namespace lemma::frontend
