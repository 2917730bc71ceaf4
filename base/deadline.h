#pragma once
// A point in time by which something is to be done.

#include <algorithm>
#include <chrono>

namespace lemma {

class Deadline {
 public:
  static Deadline after(double seconds) {
    return Deadline(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                       std::chrono::duration<double>(std::min(seconds, 1e8))));
  }
  /// The deadline in `seconds`, or this one if it is sooner.
  Deadline within(double seconds) const { return Deadline(std::min(at_, after(seconds).at_)); }
  double remaining() const {
    return std::max(0.0, std::chrono::duration<double>(at_ - Clock::now()).count());
  }
  bool passed() const { return Clock::now() >= at_; }
  std::chrono::steady_clock::time_point at() const { return at_; }
  Deadline earlier_by(double seconds) const {
    return Deadline(at_ - std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double>(std::min(seconds, 1e8))));
  }

 private:
  using Clock = std::chrono::steady_clock;
  explicit Deadline(Clock::time_point at) : at_(at) {}
  Clock::time_point at_;
};

}  // namespace lemma
