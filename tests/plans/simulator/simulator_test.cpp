// Timetables: worked examples, their defining conditions on random task graphs, and that those kept up to date through random
// changes are those computed anew.

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "plans/simulator/memory.h"
#include "plans/simulator/trace.h"
#include "tests/plans/simulator/random_tasks.h"

namespace lemma::simulator {
namespace {

using testing::RandomTasks;

TaskGraph two_devices() {
  TaskGraph graph;
  graph.resources = {"device 0", "device 1", "link"};
  graph.memories = {"memory 0", "memory 1"};
  const TaskNumber a = graph.add({"a", {0}, 10, {}, 0});
  const TaskNumber send = graph.add({"send a", {2}, 5, {a}, 0});
  const TaskNumber b = graph.add({"b", {0}, 20, {a}, 0});
  const TaskNumber c = graph.add({"c", {1}, 7, {send}, 0});
  graph.add({"d", {1}, 3, {b, c}, 0});
  graph.buffers = {{0, 100, a, {send, b}}, {1, 100, send, {c}}, {0, 50, b, {}}};
  return graph;
}

TEST(Simulate, OverlapsWhatDoesNotWait) {
  const TaskGraph graph = two_devices();
  ASSERT_EQ(fault_of(graph), std::nullopt);
  const Timetable timetable = simulate(graph);
  const std::vector<Times> expected = {
      {0, 0, 10}, {10, 10, 15}, {10, 10, 30}, {15, 15, 22}, {30, 30, 33}};
  EXPECT_EQ(timetable.tasks, expected);
  EXPECT_EQ(timetable.end(), 33);
  EXPECT_EQ(least_end(graph), 33);
  EXPECT_EQ(busy_times(graph), (std::vector<Time>{30, 10, 5}));
}

TEST(Simulate, TasksOnOneResourceFollowOneAnother) {
  TaskGraph graph;
  graph.resources = {"left port", "right port"};
  graph.add({"m", {0, 1}, 10, {}, 0});
  graph.add({"n", {1}, 10, {}, 0});
  graph.add({"o", {0}, 10, {}, 0});
  const Timetable timetable = simulate(graph);
  EXPECT_EQ(timetable.tasks[1].start, 10);
  EXPECT_EQ(timetable.tasks[2].start, 10);
  EXPECT_EQ(timetable.end(), 20);
}

TEST(Simulate, WhatIsReadyFirstRunsFirst) {
  TaskGraph graph;
  graph.resources = {"device", "other"};
  const TaskNumber late = graph.add({"late", {1}, 5, {}, 0});
  graph.add({"waits", {0}, 10, {late}, 0});
  graph.add({"at once", {0}, 7, {}, 0});
  const Timetable timetable = simulate(graph);
  EXPECT_EQ(timetable.tasks[2].start, 0);
  EXPECT_EQ(timetable.tasks[1].start, 7);
}

TEST(Memory, IsTakenFromTheStartUntilTheLastReaderEnds) {
  const TaskGraph graph = two_devices();
  const auto steps = memory_over_time(graph, simulate(graph));
  EXPECT_EQ(steps[0], (std::vector<MemoryStep>{{0, 100}, {10, 150}, {30, 50}, {33, 0}}));
  EXPECT_EQ(steps[1], (std::vector<MemoryStep>{{10, 100}, {22, 0}}));
  EXPECT_EQ(peaks(graph, simulate(graph)), (std::vector<std::uint64_t>{150, 100}));
}

TEST(TaskGraph, FaultsAreNamed) {
  TaskGraph graph = two_devices();
  graph.tasks[2].duration = -1;
  EXPECT_EQ(fault_of(graph), "task 2 ('b'): its duration is negative");
  graph = two_devices();
  graph.tasks[1].resources = {3};
  EXPECT_EQ(fault_of(graph), "task 1 ('send a'): resource 3 is none of the 3");
  graph = two_devices();
  graph.tasks[0].predecessors = {4};
  EXPECT_EQ(fault_of(graph), "task 0 ('a'): it waits for task 4, which has no lower rank");
  graph = two_devices();
  graph.tasks[4].rank = 2;
  EXPECT_EQ(fault_of(graph), "task 4 ('d'): it waits for task 2, which has no lower rank");
  graph = two_devices();
  graph.buffers[1].readers = {0};
  EXPECT_EQ(fault_of(graph), "buffer 1: task 0 cannot read what task 1 makes");
  EXPECT_EQ(picoseconds(-1), std::nullopt);
  EXPECT_EQ(picoseconds(1e-6), 1000000);
}

/// Each condition of the header, checked without the order in which the simulation takes tasks.
void expect_defined(const TaskGraph& graph, const Timetable& timetable) {
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const Task& task = graph.tasks[i];
    const Times& times = timetable.tasks[i];
    Time ready = 0;
    for (const TaskNumber before : task.predecessors)
      ready = std::max(ready, timetable.tasks[before].end);
    Time start = ready;
    for (std::size_t j = 0; j < graph.tasks.size(); ++j) {
      const Task& other = graph.tasks[j];
      const bool is_before =
          std::pair(timetable.tasks[j].ready, other.rank) < std::pair(times.ready, task.rank);
      std::vector<Resource> common;
      std::set_intersection(task.resources.begin(), task.resources.end(), other.resources.begin(),
                            other.resources.end(), std::back_inserter(common));
      if (i != j && is_before && !common.empty()) start = std::max(start, timetable.tasks[j].end);
    }
    EXPECT_EQ(times, (Times{ready, start, start + task.duration})) << i;
  }
  EXPECT_LE(least_end(graph), timetable.end());
}

TEST(Simulate, KeepsTheConditionsOnRandomTaskGraphs) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    RandomTasks random(seed);
    const TaskGraph graph = random.graph(60, 1 + seed % 7, 1 + seed % 30);
    ASSERT_EQ(fault_of(graph), std::nullopt);
    expect_defined(graph, simulate(graph));
  }
}

TEST(Incremental, EqualsTheFullSimulationAfterRandomChanges) {
  std::size_t moves = 0;
  for (std::uint64_t seed = 0; moves < 2000; ++seed) {
    RandomTasks random(seed);
    const std::size_t reach = 1 + seed % 60;
    IncrementalTimetable timetable(random.graph(80 + 20 * (seed % 5), 1 + seed % 9, reach));
    for (int i = 0; i < 100; ++i, ++moves) {
      for (std::size_t changes = 1 + random.below(3); changes > 0; --changes)
        random.change(timetable, reach);
      timetable.update();
      ASSERT_EQ(fault_of(timetable.graph()), std::nullopt);
      ASSERT_EQ(timetable.timetable().tasks, simulate(timetable.graph()).tasks) << seed << " " << i;
    }
  }
}

TEST(Incremental, LooksAtLittleWhereNothingChanges) {
  RandomTasks random(1);
  IncrementalTimetable timetable(random.graph(50, 4, 10));
  EXPECT_EQ(timetable.update(), 0U);
  timetable.set_duration(7, timetable.graph().tasks[7].duration);
  EXPECT_LE(timetable.update(), 32U);
}

TEST(Trace, HasEachTaskOnceForEachResource) {
  const TaskGraph graph = two_devices();
  const std::string text = trace_text(graph, simulate(graph));
  const auto trace = nlohmann::json::parse(text);
  std::vector<std::string> names;
  for (const auto& event : trace["traceEvents"])
    if (event["ph"] == "X") names.push_back(event["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "send a", "b", "c", "d"}));
  EXPECT_EQ(text, trace_text(graph, simulate(graph)));
}

}  // namespace
}  // namespace lemma::simulator
