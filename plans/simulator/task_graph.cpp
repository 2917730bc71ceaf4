#include "plans/simulator/task_graph.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace lemma::simulator {

std::optional<Time> picoseconds(double seconds) {
  if (!(seconds >= 0 && seconds <= 1e6)) return std::nullopt;
  return static_cast<Time>(std::llround(seconds * 1e12));
}

TaskNumber TaskGraph::add(Task task) {
  task.rank = tasks.empty() ? 0 : tasks.back().rank + 1;
  tasks.push_back(std::move(task));
  return static_cast<TaskNumber>(tasks.size() - 1);
}

namespace {

std::optional<std::string> fault_of_task(const TaskGraph& graph, const Task& task) {
  if (task.duration < 0) return "its duration is negative";
  for (std::size_t i = 0; i < task.resources.size(); ++i) {
    if (task.resources[i] >= graph.resources.size())
      return fmt::format("resource {} is none of the {}", task.resources[i],
                         graph.resources.size());
    if (i > 0 && task.resources[i - 1] >= task.resources[i])
      return "its resources are not in ascending order";
  }
  for (const TaskNumber before : task.predecessors) {
    if (before >= graph.tasks.size())
      return fmt::format("it waits for task {}, which is none of the {}", before,
                         graph.tasks.size());
    if (graph.tasks[before].rank >= task.rank)
      return fmt::format("it waits for task {}, which has no lower rank", before);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> fault_of(const TaskGraph& graph) {
  std::vector<std::uint64_t> ranks;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    if (const auto fault = fault_of_task(graph, graph.tasks[i]))
      return fmt::format("task {} ('{}'): {}", i, graph.tasks[i].name, *fault);
    ranks.push_back(graph.tasks[i].rank);
  }
  std::sort(ranks.begin(), ranks.end());
  if (const auto same = std::adjacent_find(ranks.begin(), ranks.end()); same != ranks.end())
    return fmt::format("two tasks have the rank {}", *same);
  for (std::size_t i = 0; i < graph.buffers.size(); ++i) {
    const Buffer& buffer = graph.buffers[i];
    if (buffer.memory >= graph.memories.size())
      return fmt::format("buffer {}: memory {} is none of the {}", i, buffer.memory,
                         graph.memories.size());
    if (buffer.maker >= graph.tasks.size())
      return fmt::format("buffer {}: task {} is none of the {}", i, buffer.maker,
                         graph.tasks.size());
    for (const TaskNumber reader : buffer.readers)
      if (reader >= graph.tasks.size() || graph.tasks[reader].rank < graph.tasks[buffer.maker].rank)
        return fmt::format("buffer {}: task {} cannot read what task {} makes", i, reader,
                           buffer.maker);
  }
  return std::nullopt;
}

}  // namespace lemma::simulator
