#pragma once
// Keeps the memory of this process within a limit set by the user.

#include <cstddef>
#include <optional>
#include <thread>

namespace lemma {

/// Sets a hard limit on memory that is the process's own (an allocation beyond it throws
/// std::bad_alloc), and keeps the resident part of mapped files within what is left of the limit, by
/// giving pages back that can be read again. While it lives.
class MemoryGuard {
 public:
  explicit MemoryGuard(std::size_t limit_bytes);

  /// What may still be allocated, now.
  std::size_t available_bytes() const;

 private:
  std::size_t limit_;
  std::jthread watcher_;
};

}  // namespace lemma
