#include "plans/simulator/incremental.h"

#include <algorithm>

namespace lemma::simulator {

IncrementalTimetable::IncrementalTimetable(TaskGraph graph)
    : graph_(std::move(graph)), timetable_(simulate(graph_)) {
  const std::size_t count = graph_.tasks.size();
  queues_.resize(graph_.resources.size());
  successors_.resize(count);
  is_marked_.assign(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const auto task = static_cast<TaskNumber>(i);
    for (const Resource resource : graph_.tasks[i].resources)
      queues_[resource].push_back(key_of(task));
    for (const TaskNumber before : graph_.tasks[i].predecessors)
      successors_[before].push_back(task);
  }
  for (Queue& queue : queues_) std::sort(queue.begin(), queue.end());
}

Time IncrementalTimetable::end() const { return timetable_.end(); }

void IncrementalTimetable::mark(TaskNumber task) {
  if (is_marked_[task]) return;
  is_marked_[task] = 1;
  heap_.push_back(key_of(task));
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

/// Those behind it in its queues may start earlier.
void IncrementalTimetable::leave_queues(TaskNumber task) {
  const Key key = key_of(task);
  for (const Resource resource : graph_.tasks[task].resources) {
    Queue& queue = queues_[resource];
    const auto behind = queue.erase(std::lower_bound(queue.begin(), queue.end(), key));
    if (behind != queue.end()) mark(behind->task);
  }
}

/// Those behind it in its queues may start later.
void IncrementalTimetable::enter_queues(TaskNumber task) {
  const Key key = key_of(task);
  for (const Resource resource : graph_.tasks[task].resources) {
    Queue& queue = queues_[resource];
    const auto behind = queue.insert(std::lower_bound(queue.begin(), queue.end(), key), key) + 1;
    if (behind != queue.end()) mark(behind->task);
  }
}

void IncrementalTimetable::set_duration(TaskNumber task, Time duration) {
  graph_.tasks[task].duration = duration;
  mark(task);
}

void IncrementalTimetable::set_resources(TaskNumber task, std::vector<Resource> resources) {
  leave_queues(task);
  graph_.tasks[task].resources = std::move(resources);
  enter_queues(task);
  mark(task);
}

void IncrementalTimetable::set_predecessors(TaskNumber task, std::vector<TaskNumber> predecessors) {
  for (const TaskNumber before : graph_.tasks[task].predecessors) {
    std::vector<TaskNumber>& behind = successors_[before];
    behind.erase(std::find(behind.begin(), behind.end(), task));
  }
  graph_.tasks[task].predecessors = std::move(predecessors);
  for (const TaskNumber before : graph_.tasks[task].predecessors)
    successors_[before].push_back(task);
  mark(task);
}

TaskNumber IncrementalTimetable::add(Task task) {
  std::vector<TaskNumber> predecessors = std::move(task.predecessors);
  std::vector<Resource> resources = std::move(task.resources);
  task.predecessors.clear();
  task.resources.clear();
  const TaskNumber number = graph_.add(std::move(task));
  timetable_.tasks.emplace_back();
  successors_.emplace_back();
  is_marked_.push_back(0);
  set_resources(number, std::move(resources));
  set_predecessors(number, std::move(predecessors));
  return number;
}

void IncrementalTimetable::remove(TaskNumber task) {
  set_resources(task, {});
  set_duration(task, 0);
}

void IncrementalTimetable::repair(TaskNumber number) {
  const Task& task = graph_.tasks[number];
  Times& times = timetable_.tasks[number];
  Time ready = 0;
  for (const TaskNumber before : task.predecessors)
    ready = std::max(ready, timetable_.tasks[before].end);
  if (ready != times.ready) {
    leave_queues(number);
    times.ready = ready;
    enter_queues(number);
  }
  Time start = ready;
  const Key key = key_of(number);
  for (const Resource resource : task.resources) {
    const Queue& queue = queues_[resource];
    const auto place = std::lower_bound(queue.begin(), queue.end(), key);
    if (place != queue.begin()) start = std::max(start, timetable_.tasks[(place - 1)->task].end);
  }
  times.start = start;
  const Time end = start + task.duration;
  if (end == times.end) return;
  times.end = end;
  for (const TaskNumber behind : successors_[number]) mark(behind);
  for (const Resource resource : task.resources) {
    const Queue& queue = queues_[resource];
    const auto behind = std::upper_bound(queue.begin(), queue.end(), key);
    if (behind != queue.end()) mark(behind->task);
  }
}

std::size_t IncrementalTimetable::update() {
  std::size_t repaired = 0;
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const TaskNumber task = heap_.back().task;
    heap_.pop_back();
    is_marked_[task] = 0;
    repair(task);
    ++repaired;
  }
  return repaired;
}

}  // namespace lemma::simulator
