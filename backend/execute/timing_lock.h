#pragma once

namespace lemma::backend {

inline constexpr double most_seconds_of_waiting = 3;  // for others, where a time limit does not say

/// While it lives, other programs of this user that time models wait: two at once would measure each other. It is the
/// lock of profiler/onnxruntime_worker.py.
class TimingLock {
 public:
  /// Waits for others, at most for so many seconds; then it goes on all the same.
  explicit TimingLock(double seconds);
  ~TimingLock();
  TimingLock(const TimingLock&) = delete;
  TimingLock& operator=(const TimingLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace lemma::backend
