#pragma once
// When each task of a task graph runs, computed from the beginning.

#include <vector>

#include "plans/simulator/task_graph.h"

namespace lemma::simulator {

/// Of one task. It is ready when those before it have ended, and starts when its resources are free as well.
struct Times {
  Time ready = 0, start = 0, end = 0;
  bool operator==(const Times&) const = default;
};

struct Timetable {
  std::vector<Times> tasks;

  /// When the last task ends.
  Time end() const;
};

/// Takes the tasks in the order in which they become ready (FlexFlow's full simulation; Jia et al., MLSys 2019, section 5.2). In
/// time O(n log n) for n tasks and predecessors.
Timetable simulate(const TaskGraph& graph);

/// What each resource is busy for, by resource.
std::vector<Time> busy_times(const TaskGraph& graph);

/// No timetable of these tasks on these resources ends before: the longest chain of tasks that wait for each other, and what
/// the busiest resource has to do.
Time least_end(const TaskGraph& graph);

}  // namespace lemma::simulator
