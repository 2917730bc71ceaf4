#include "batch/resource_use.h"

#include <sys/resource.h>

#include <algorithm>

namespace lemma {
namespace {

ResourceUse resource_use_of(int who) {
  struct rusage usage {};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return {seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss * 1024};
}

}  // namespace

ResourceUse resource_use() { return resource_use_of(RUSAGE_SELF); }

ResourceUse resource_use_with_children() {
  const ResourceUse self = resource_use(), children = resource_use_of(RUSAGE_CHILDREN);
  return {self.processor_seconds + children.processor_seconds,
          std::max(self.peak_memory_bytes, children.peak_memory_bytes)};
}

}  // namespace lemma
