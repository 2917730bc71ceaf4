#include "plans/simulator/memory.h"

#include <algorithm>
#include <tuple>

namespace lemma::simulator {

std::vector<std::vector<MemoryStep>> memory_over_time(const TaskGraph& graph,
                                                      const Timetable& timetable) {
  struct Change {
    Time time;
    bool takes;
    std::uint64_t bytes;
  };
  const Time end = timetable.end();
  std::vector<std::vector<Change>> changes(graph.memories.size());
  for (const Buffer& buffer : graph.buffers) {
    const Times& made = timetable.tasks[buffer.maker];
    Time last = buffer.readers.empty() ? end : made.end;
    for (const TaskNumber reader : buffer.readers)
      last = std::max(last, timetable.tasks[reader].end);
    changes[buffer.memory].push_back({made.start, true, buffer.bytes});
    changes[buffer.memory].push_back({last, false, buffer.bytes});
  }
  std::vector<std::vector<MemoryStep>> result(graph.memories.size());
  for (std::size_t memory = 0; memory < changes.size(); ++memory) {
    std::stable_sort(changes[memory].begin(), changes[memory].end(),
                     [](const Change& a, const Change& b) { return a.time < b.time; });
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < changes[memory].size();) {
      const Time time = changes[memory][i].time;
      std::uint64_t taken = 0, released = 0;
      for (; i < changes[memory].size() && changes[memory][i].time == time; ++i)
        (changes[memory][i].takes ? taken : released) += changes[memory][i].bytes;
      bytes = bytes + taken - released;
      result[memory].push_back({time, bytes});
    }
  }
  return result;
}

std::vector<std::uint64_t> peaks(const TaskGraph& graph, const Timetable& timetable) {
  std::vector<std::uint64_t> result;
  for (const std::vector<MemoryStep>& steps : memory_over_time(graph, timetable)) {
    std::uint64_t most = 0;
    for (const MemoryStep& step : steps) most = std::max(most, step.bytes);
    result.push_back(most);
  }
  return result;
}

}  // namespace lemma::simulator
