#pragma once
// Task graphs with random shapes, and random changes of them.

#include <algorithm>
#include <random>
#include <set>

#include "plans/simulator/incremental.h"

namespace lemma::simulator::testing {

class RandomTasks {
 public:
  explicit RandomTasks(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_);
  }

  /// One or two of the resources, rarely none.
  std::vector<Resource> resources(std::size_t count) {
    std::set<Resource> chosen;
    if (below(20) > 0) chosen.insert(static_cast<Resource>(below(count)));
    if (below(3) == 0) chosen.insert(static_cast<Resource>(below(count)));
    return {chosen.begin(), chosen.end()};
  }

  Time duration() { return below(8) == 0 ? 0 : static_cast<Time>(below(1000)); }

  /// Up to three of the `reach` tasks in front of a task.
  std::vector<TaskNumber> predecessors(std::size_t task, std::size_t reach) {
    std::set<TaskNumber> chosen;
    if (task > 0)
      for (std::size_t i = below(4); i > 0; --i)
        chosen.insert(static_cast<TaskNumber>(task - 1 - below(std::min(task, reach))));
    return {chosen.begin(), chosen.end()};
  }

  TaskGraph graph(std::size_t tasks, std::size_t resource_count, std::size_t reach) {
    TaskGraph result;
    for (std::size_t i = 0; i < resource_count; ++i) result.resources.push_back("r");
    result.memories = {"m"};
    for (std::size_t i = 0; i < tasks; ++i)
      result.add({"t", resources(resource_count), duration(), predecessors(i, reach), 0});
    for (std::size_t i = 0; i < tasks; ++i) {
      Buffer buffer{0, below(100), static_cast<TaskNumber>(i), {}};
      for (std::size_t j = i + 1; j < tasks; ++j) {
        const auto& before = result.tasks[j].predecessors;
        if (std::find(before.begin(), before.end(), i) != before.end())
          buffer.readers.push_back(static_cast<TaskNumber>(j));
      }
      result.buffers.push_back(buffer);
    }
    return result;
  }

  void change(IncrementalTimetable& timetable, std::size_t reach) {
    const std::size_t tasks = timetable.graph().tasks.size();
    const auto task = static_cast<TaskNumber>(below(tasks));
    const std::size_t resource_count = timetable.graph().resources.size();
    switch (below(6)) {
      case 0: timetable.set_duration(task, duration()); return;
      case 1: timetable.set_resources(task, resources(resource_count)); return;
      case 2: timetable.set_predecessors(task, predecessors(task, reach)); return;
      case 3: timetable.remove(task); return;
      case 4:
        timetable.add({"t", resources(resource_count), duration(), predecessors(tasks, reach), 0});
        return;
      default:
        timetable.set_resources(task, resources(resource_count));
        timetable.set_duration(task, duration());
    }
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace lemma::simulator::testing
