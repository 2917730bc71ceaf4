#pragma once
// What devices and links do, as tasks that wait for each other and for what they run on. Knows nothing of tensors.
//
// A task runs on some resources at once: a device that computes, or the ports and links of a message. It is ready when the
// tasks that it waits for have ended. A resource runs one task at a time, in the order in which they become ready, and of
// equal ones in the order of their ranks. So there is exactly one timetable of a task graph (simulate.h).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace lemma::simulator {

/// Picoseconds, so that sums are exact: 2^63 of them are 106 days.
using Time = std::int64_t;
using TaskNumber = std::uint32_t;
using Resource = std::uint32_t;

/// The nearest picosecond. Negative seconds, and more than 10^6, are none.
std::optional<Time> picoseconds(double seconds);

struct Task {
  std::string name;                 // for people; need not be unique
  std::vector<Resource> resources;  // ascending; none: the task only takes time
  Time duration = 0;
  std::vector<TaskNumber> predecessors;  // tasks with lower ranks
  std::uint64_t rank = 0;                // no two tasks have the same
};

/// Memory of a device that a task's result needs, from the task's start until the last task has ended that reads it.
struct Buffer {
  std::uint32_t memory = 0;
  std::uint64_t bytes = 0;
  TaskNumber maker = 0;
  std::vector<TaskNumber> readers;  // none: it is kept until the end
};

struct TaskGraph {
  std::vector<std::string> resources;  // names
  std::vector<std::string> memories;
  std::vector<Task> tasks;
  std::vector<Buffer> buffers;

  /// Adds a task behind all others: its rank is greater than theirs.
  TaskNumber add(Task task);
};

/// What is wrong with a task graph: a number that is none, a negative duration, resources that are not ascending, two tasks with one
/// rank, a predecessor without a lower rank. Nothing if it is right. The functions of this folder need one that is right.
std::optional<std::string> fault_of(const TaskGraph& graph);

}  // namespace lemma::simulator
