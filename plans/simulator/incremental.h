#pragma once
// A timetable that is kept up to date while tasks change: only what a change moves is computed again.
//
// The timetable of a task graph is the only one in which each task is ready when its predecessors have ended and each resource
// runs its tasks in the order in which they become ready. A change makes some of these conditions wrong. They are mended task by
// task, the earliest first, until all hold (FlexFlow's delta simulation; Jia et al., MLSys 2019, section 5.3, which repairs in the
// manner of Bellman and Ford). What results is what `simulate` computes, whatever the order of the changes.

#include <vector>

#include "plans/simulator/simulate.h"

namespace lemma::simulator {

class IncrementalTimetable {
 public:
  /// Simulates all tasks once.
  explicit IncrementalTimetable(TaskGraph graph);

  const TaskGraph& graph() const { return graph_; }
  const Timetable& timetable() const { return timetable_; }
  /// When the last task ends.
  Time end() const;

  // Changes. They take effect with the next update().

  void set_duration(TaskNumber task, Time duration);
  /// `resources`: ascending.
  void set_resources(TaskNumber task, std::vector<Resource> resources);
  /// Tasks with lower ranks.
  void set_predecessors(TaskNumber task, std::vector<TaskNumber> predecessors);
  /// A task behind all others; others wait for it after set_predecessors only where their rank is greater.
  TaskNumber add(Task task);
  /// The task takes no time and runs on nothing; those that wait for it wait for nothing more than it waits for.
  void remove(TaskNumber task);

  /// Computes the times of what has changed. Returns how many tasks were looked at.
  std::size_t update();

 private:
  struct Key {
    Time ready;
    std::uint64_t rank;
    TaskNumber task;
    auto operator<=>(const Key&) const = default;
  };
  using Queue =
      std::vector<Key>;  // ascending: the tasks of a resource in the order in which they run

  Key key_of(TaskNumber task) const {
    return {timetable_.tasks[task].ready, graph_.tasks[task].rank, task};
  }
  void mark(TaskNumber task);
  void leave_queues(TaskNumber task);
  void enter_queues(TaskNumber task);
  void repair(TaskNumber task);

  TaskGraph graph_;
  Timetable timetable_;
  std::vector<Queue> queues_;                        // by resource
  std::vector<std::vector<TaskNumber>> successors_;  // by task
  std::vector<char> is_marked_;
  std::vector<Key> heap_;  // marked tasks, the earliest on top
};

}  // namespace lemma::simulator
