#pragma once
// A line on a terminal about work that takes long.

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace lemma {

/// Says on a terminal what is done and for how long, second by second, once that has taken some seconds.
class ProgressLine {
 public:
  ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();

  void operator()(std::string text);

 private:
  void write_lines();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace lemma
