#pragma once
// A point in time by which something is to be done.

#include <algorithm>
#include <chrono>

namespace lemma {

/// A moment of the steady clock, which changes of the system's time do not move.
class Deadline {
 public:
  /// From now on. At most 1e8 seconds are taken, also of infinitely many.
  static Deadline after(double seconds) {
    return Deadline(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                       std::chrono::duration<double>(std::min(seconds, 1e8))));
  }
  /// The deadline in `seconds`, or this one if it is sooner.
  Deadline within(double seconds) const { return Deadline(std::min(at_, after(seconds).at_)); }
  /// In seconds; 0 once it has passed.
  double remaining() const {
    return std::max(0.0, std::chrono::duration<double>(at_ - Clock::now()).count());
  }
  bool passed() const { return Clock::now() >= at_; }  // true from the moment itself on
  /// As the standard library takes it.
  std::chrono::steady_clock::time_point at() const { return at_; }
  /// So many seconds before it, which may be in the past; at most 1e8 are taken.
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
