#include "batch/memory_guard.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

namespace lemma {

namespace {

struct Resident {
  std::size_t all = 0, files = 0;  // bytes
};

Resident resident() {
  std::ifstream stream("/proc/self/statm");
  std::size_t size = 0, all = 0, shared = 0;
  stream >> size >> all >> shared;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return {all * page, shared * page};
}

/// Gives back the pages of all read-only mappings of files but small ones, which are libraries and
/// tables. They are read from the file again when they are touched.
void release_file_pages() {
  constexpr std::size_t smallest = std::size_t{1} << 20U;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::size_t begin = 0, end = 0;
    char permissions[5] = {};
    unsigned long inode = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx %4s %*s %*s %lu", &begin, &end, permissions, &inode) !=
        4)
      continue;
    if (inode == 0 || std::string_view(permissions).substr(0, 3) != "r--" || end - begin < smallest)
      continue;
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);  // NOLINT
  }
}

void watch(const std::stop_token& stop, std::size_t limit) {
  // Files are read at some GB a second: what comes in between two looks must fit.
  constexpr auto pause = std::chrono::milliseconds(5);
  while (!stop.stop_requested()) {
    const Resident now = resident();
    if (now.all > limit / 10 * 9 && now.files > limit / 50) release_file_pages();
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace

MemoryGuard::MemoryGuard(std::size_t limit_bytes) : limit_(limit_bytes) {
  rlimit data{};
  getrlimit(RLIMIT_DATA, &data);
  data.rlim_cur = std::min<rlim_t>(data.rlim_max, limit_bytes);
  setrlimit(RLIMIT_DATA, &data);
  watcher_ = std::jthread([limit_bytes](const std::stop_token& stop) { watch(stop, limit_bytes); });
}

std::size_t MemoryGuard::available_bytes() const {
  const Resident now = resident();
  const std::size_t own = now.all - std::min(now.all, now.files);
  return limit_ - std::min(limit_, own);
}

}  // namespace lemma
