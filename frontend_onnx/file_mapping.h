#pragma once
// A file mapped into memory, read-only.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "ir/result.h"

namespace lemma::frontend {

class FileMapping {
 public:
  static Result<std::shared_ptr<const FileMapping>> open(const std::filesystem::path& path);
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;
  ~FileMapping();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit FileMapping(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

}  // namespace lemma::frontend
