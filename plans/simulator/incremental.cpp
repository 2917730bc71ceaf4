#include "plans/simulator/incremental.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace lemma::simulator {

IncrementalTimetable::IncrementalTimetable(TaskGraph graph)
    : graph_(std::move(graph)), timetable_(simulate(graph_)) {
  const std::size_t count = graph_.tasks.size();
  successors_.resize(count);
  for (std::size_t i = 0; i < count; ++i)
    for (const TaskNumber before : graph_.tasks[i].predecessors)
      successors_[before].push_back(static_cast<TaskNumber>(i));
  order_.resize(count);
  std::iota(order_.begin(), order_.end(), 0);
  std::sort(order_.begin(), order_.end(),
            [&](TaskNumber a, TaskNumber b) { return key_of(a) < key_of(b); });
  place_.resize(count);
  free_.assign(graph_.resources.size(), 0);
  for (std::size_t place = 0; place < count; ++place) {
    if (place % distance == 0) kept_.push_back(free_);
    place_[order_[place]] = place;
    for (const Resource resource : graph_.tasks[order_[place]].resources)
      free_[resource] = timetable_.tasks[order_[place]].end;
  }
  is_marked_.assign(count, 0);
  pending_.resize(count);
}

Time IncrementalTimetable::end() const { return timetable_.end(); }

void IncrementalTimetable::mark(TaskNumber task) {
  if (is_marked_[task]) return;
  is_marked_[task] = 1;
  marked_.push_back(task);
}

void IncrementalTimetable::set_duration(TaskNumber task, Time duration) {
  graph_.tasks[task].duration = duration;
  mark(task);
}

void IncrementalTimetable::set_resources(TaskNumber task, std::vector<Resource> resources) {
  graph_.tasks[task].resources = std::move(resources);
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
  task.predecessors.clear();
  const TaskNumber number = graph_.add(std::move(task));
  // Behind all others until it has times.
  timetable_.tasks.push_back({std::numeric_limits<Time>::max(), 0, 0});
  successors_.emplace_back();
  if (order_.size() % distance == 0) kept_.emplace_back(graph_.resources.size(), -1);
  place_.push_back(order_.size());
  order_.push_back(number);
  is_marked_.push_back(0);
  pending_.emplace_back();
  set_predecessors(number, std::move(predecessors));
  return number;
}

void IncrementalTimetable::remove(TaskNumber task) {
  set_resources(task, {});
  set_duration(task, 0);
}

/// Of the tasks that may have other times.
std::size_t IncrementalTimetable::first_place() const {
  Key first = {std::numeric_limits<Time>::max(), std::numeric_limits<std::uint64_t>::max(), 0};
  for (const TaskNumber task : marked_) {
    // Where a predecessor moves, that one is marked, or behind one that is.
    Time ready = 0;
    for (const TaskNumber before : graph_.tasks[task].predecessors)
      ready = std::max(ready, timetable_.tasks[before].end);
    first = std::min({first, key_of(task), Key{ready, graph_.tasks[task].rank, task}});
  }
  const auto place =
      std::lower_bound(order_.begin(), order_.end(), first,
                       [&](TaskNumber task, const Key& key) { return key_of(task) < key; });
  return static_cast<std::size_t>(place - order_.begin());
}

void IncrementalTimetable::restore_free(std::size_t begin) {
  if (order_.empty()) return;
  std::size_t place = std::min(begin, order_.size() - 1) / distance * distance;
  free_ = kept_[place / distance];
  for (; place < begin; ++place)
    for (const Resource resource : graph_.tasks[order_[place]].resources)
      free_[resource] = timetable_.tasks[order_[place]].end;
}

void IncrementalTimetable::prepare(std::size_t begin) {
  heap_.clear();
  for (std::size_t place = begin; place < order_.size(); ++place) {
    const TaskNumber task = order_[place];
    Pending pending;
    for (const TaskNumber before : graph_.tasks[task].predecessors) {
      if (place_[before] >= begin)
        ++pending.open;
      else
        pending.ready = std::max(pending.ready, timetable_.tasks[before].end);
    }
    pending_[task] = pending;
    if (pending.open == 0) heap_.push_back({pending.ready, graph_.tasks[task].rank, task});
  }
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  unread_moves_ = 0;
  farthest_ = begin;
  marked_left_ = marked_.size();
}

void IncrementalTimetable::simulate_next(std::size_t place) {
  std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
  const TaskNumber number = heap_.back().task;
  heap_.pop_back();
  const Task& task = graph_.tasks[number];
  const Pending& own = pending_[number];
  Times times{own.ready, own.ready, 0};
  for (const Resource resource : task.resources)
    times.start = std::max(times.start, free_[resource]);
  times.end = times.start + task.duration;
  for (const Resource resource : task.resources) free_[resource] = times.end;
  // A new task has not ended before.
  const bool has_moved = times.end != timetable_.tasks[number].end ||
                         timetable_.tasks[number].ready == std::numeric_limits<Time>::max();
  timetable_.tasks[number] = times;
  unread_moves_ -= own.moved;
  for (const TaskNumber behind : successors_[number]) {
    Pending& other = pending_[behind];
    other.ready = std::max(other.ready, times.end);
    if (has_moved) ++other.moved, ++unread_moves_;
    if (--other.open > 0) continue;
    heap_.push_back({other.ready, graph_.tasks[behind].rank, behind});
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  marked_left_ -= is_marked_[number] ? 1 : 0;
  farthest_ = std::max(farthest_, place_[number]);
  order_[place] = number;
  place_[number] = place;
}

/// Whether all that is in front of the place stands there as before, and nothing behind it can tell a difference.
bool IncrementalTimetable::agrees_with_kept(std::size_t place) const {
  return marked_left_ == 0 && unread_moves_ == 0 && farthest_ < place &&
         free_ == kept_[place / distance];
}

std::size_t IncrementalTimetable::update() {
  if (marked_.empty()) return 0;
  const std::size_t begin = first_place();
  restore_free(begin);
  prepare(begin);
  std::size_t place = begin;
  for (; place < order_.size(); ++place) {
    if (place % distance == 0 && place > begin) {
      if (agrees_with_kept(place)) break;
      kept_[place / distance] = free_;
    }
    simulate_next(place);
  }
  for (const TaskNumber task : marked_) is_marked_[task] = 0;
  marked_.clear();
  return place - begin;
}

}  // namespace lemma::simulator
