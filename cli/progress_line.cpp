#include "cli/progress_line.h"

#include <unistd.h>

#include <chrono>
#include <iostream>

#include <fmt/format.h>

#include "report/printable.h"

namespace lemma {

namespace {

constexpr int seconds_before_lines = 2;

}  // namespace

ProgressLine::ProgressLine() {
  if (isatty(STDERR_FILENO) == 1) thread_ = std::thread([this] { write_lines(); });
}

ProgressLine::~ProgressLine() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ProgressLine::operator()(std::string text) {
  const std::lock_guard lock(mutex_);
  text_ = std::move(text);
}

void ProgressLine::write_lines() {
  std::unique_lock lock(mutex_);
  bool is_written = false;
  for (int seconds = 1;; ++seconds) {
    if (changed_.wait_for(lock, std::chrono::seconds(1), [this] { return is_over_; })) break;
    if (seconds < seconds_before_lines || text_.empty()) continue;
    std::cerr << printable(fmt::format("{} ({} s)", text_, seconds)) << "\33[K\r" << std::flush;
    is_written = true;
  }
  if (is_written) std::cerr << "\33[K" << std::flush;
}

}  // namespace lemma
