#include "plans/simulator/simulate.h"

#include <algorithm>
#include <queue>
#include <tuple>

namespace lemma::simulator {

Time Timetable::end() const {
  Time last = 0;
  for (const Times& times : tasks) last = std::max(last, times.end);
  return last;
}

namespace {

/// By task, the tasks that wait for it, in one array.
struct Successors {
  std::vector<std::uint32_t> begins;
  std::vector<TaskNumber> numbers;

  explicit Successors(const TaskGraph& graph) : begins(graph.tasks.size() + 1, 0) {
    for (const Task& task : graph.tasks)
      for (const TaskNumber before : task.predecessors) ++begins[before + 1];
    for (std::size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
    numbers.resize(begins.back());
    std::vector<std::uint32_t> next(begins.begin(), begins.end() - 1);
    for (std::size_t i = 0; i < graph.tasks.size(); ++i)
      for (const TaskNumber before : graph.tasks[i].predecessors)
        numbers[next[before]++] = static_cast<TaskNumber>(i);
  }
};

}  // namespace

Timetable simulate(const TaskGraph& graph) {
  using Entry = std::tuple<Time, std::uint64_t, TaskNumber>;  // ready, rank
  const Successors successors(graph);
  Timetable result;
  result.tasks.resize(graph.tasks.size());
  std::vector<Time> free(graph.resources.size(), 0);
  std::vector<std::uint32_t> open(graph.tasks.size());
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    open[i] = static_cast<std::uint32_t>(graph.tasks[i].predecessors.size());
    if (open[i] == 0) queue.emplace(0, graph.tasks[i].rank, static_cast<TaskNumber>(i));
  }
  while (!queue.empty()) {
    const TaskNumber number = std::get<2>(queue.top());
    queue.pop();
    const Task& task = graph.tasks[number];
    Times& times = result.tasks[number];
    times.start = times.ready;
    for (const Resource resource : task.resources)
      times.start = std::max(times.start, free[resource]);
    times.end = times.start + task.duration;
    for (const Resource resource : task.resources) free[resource] = times.end;
    for (std::uint32_t i = successors.begins[number]; i < successors.begins[number + 1]; ++i) {
      const TaskNumber next = successors.numbers[i];
      Times& behind = result.tasks[next];
      behind.ready = std::max(behind.ready, times.end);
      if (--open[next] == 0) queue.emplace(behind.ready, graph.tasks[next].rank, next);
    }
  }
  return result;
}

std::vector<Time> busy_times(const TaskGraph& graph) {
  std::vector<Time> busy(graph.resources.size(), 0);
  for (const Task& task : graph.tasks)
    for (const Resource resource : task.resources) busy[resource] += task.duration;
  return busy;
}

Time least_end(const TaskGraph& graph) {
  TaskGraph alone = graph;
  for (Task& task : alone.tasks) task.resources.clear();
  Time least = simulate(alone).end();
  for (const Time busy : busy_times(graph)) least = std::max(least, busy);
  return least;
}

}  // namespace lemma::simulator
