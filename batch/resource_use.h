#pragma once
// Processor time and memory that this process has used.

#include <cstdint>

namespace lemma {

struct ResourceUse {
  double processor_seconds = 0;  // user and system
  std::int64_t peak_memory_bytes = 0;
};

ResourceUse resource_use();

/// The use of this process with the processes that it started and that have ended: the sum of their seconds, the
/// largest of their peaks.
ResourceUse resource_use_with_children();

}  // namespace lemma
