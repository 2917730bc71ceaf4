#pragma once
// A file for what does not fit into memory. It has no name once it is open, so that nothing is left of it however the
// process ends.

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace lemma {

class UnnamedFile {
 public:
  UnnamedFile() = default;
  UnnamedFile(UnnamedFile&& other) noexcept;
  UnnamedFile& operator=(UnnamedFile&& other) noexcept;
  ~UnnamedFile();

  std::uint64_t size() const { return size_; }
  /// Makes the file if there is none, where scratch_variable says or the system keeps temporary files. Returns where the
  /// bytes begin.
  Result<std::uint64_t> append(const void* bytes, std::size_t count);
  /// Bytes that were written. Several threads may read.
  Result<void> read(std::uint64_t offset, void* bytes, std::size_t count) const;

 private:
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace lemma
