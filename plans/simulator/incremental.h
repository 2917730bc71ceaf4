#pragma once
// A timetable that is kept up to date while tasks change: only what a change can move is computed again.
//
// A timetable is computed in the order in which tasks become ready. What becomes ready before anything that has changed stays as
// it is. From there on tasks are simulated again, until nothing is left that differs: the same tasks are behind, their resources
// become free at the same times, and no end of a predecessor has moved. (FlexFlow's delta simulation repairs times in the manner
// of Bellman and Ford; Jia et al., MLSys 2019, section 5.3. Where a change moves much, tasks are repaired several times there.)
// What results is what `simulate` computes, whatever the order of the changes.

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
  /// The task takes no time and runs on nothing: what waits for it waits for what it waits for.
  void remove(TaskNumber task);

  /// Computes the times of what has changed. Returns how many tasks were simulated again.
  std::size_t update();

 private:
  struct Key {
    Time ready;
    std::uint64_t rank;
    TaskNumber task;
    auto operator<=>(const Key&) const = default;
  };
  struct Pending {  // of a task that is simulated again
    Time ready = 0;
    std::uint32_t open = 0;  // predecessors that are simulated again as well, and have no times yet
    std::uint32_t moved = 0;  // of those that have times, how many end at another time than before
  };
  /// Free times of all resources are kept in front of each task whose place in the order is a multiple of this.
  static constexpr std::size_t distance = 32;

  Key key_of(TaskNumber task) const {
    return {timetable_.tasks[task].ready, graph_.tasks[task].rank, task};
  }
  void mark(TaskNumber task);
  std::size_t first_place() const;
  void restore_free(std::size_t begin);
  void prepare(std::size_t begin);
  /// The task at a place of the new order gets its times.
  void simulate_next(std::size_t place);
  bool agrees_with_kept(std::size_t place) const;

  TaskGraph graph_;
  Timetable timetable_;
  std::vector<std::vector<TaskNumber>> successors_;  // by task
  std::vector<TaskNumber> order_;                    // tasks as they become ready
  std::vector<std::size_t> place_;                   // by task, in the order
  std::vector<std::vector<Time>> kept_;              // free times, by resource
  std::vector<char> is_marked_;
  std::vector<TaskNumber> marked_;

  // Of an update.
  std::vector<Time> free_;
  std::vector<Pending> pending_;  // by task
  std::vector<Key> heap_;         // tasks that are ready, the first on top
  std::size_t unread_moves_ =
      0;  // ends that have moved, times the successors that have no times yet
  std::size_t marked_left_ = 0;
  std::size_t farthest_ = 0;  // of the former places of what has got times
};

}  // namespace lemma::simulator
