#include "backend/execute/timing_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

namespace lemma::backend {

TimingLock::TimingLock(double seconds) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error) return;
  const std::filesystem::path file = folder / fmt::format("lemma-timing-{}.lock", getuid());
  descriptor_ = open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);  // NOLINT: the system's
  if (descriptor_ < 0) return;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

/// Closing gives the lock back.
TimingLock::~TimingLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace lemma::backend
