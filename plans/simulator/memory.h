#pragma once
// What the buffers of a task graph take, over time.

#include <vector>

#include "plans/simulator/simulate.h"

namespace lemma::simulator {

/// From a moment on, so many bytes are in use.
struct MemoryStep {
  Time time = 0;
  std::uint64_t bytes = 0;
  bool operator==(const MemoryStep&) const = default;
};

/// By memory, the steps in the order of time, no two at one time. What ends at a moment is let go before what starts then is taken.
std::vector<std::vector<MemoryStep>> memory_over_time(const TaskGraph& graph,
                                                      const Timetable& timetable);

/// By memory, the most that is in use at a time.
std::vector<std::uint64_t> peaks(const TaskGraph& graph, const Timetable& timetable);

}  // namespace lemma::simulator
