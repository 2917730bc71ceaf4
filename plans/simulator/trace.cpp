#include "plans/simulator/trace.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "plans/simulator/memory.h"

namespace lemma::simulator {
namespace {

/// A number of JSON with all digits: picoseconds do not fit into the digits of a double where times are long.
std::string microseconds(Time time) {
  return fmt::format("{}.{:06}", time / 1000000, time % 1000000);
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string trace_text(const TaskGraph& graph, const Timetable& timetable) {
  std::vector<std::string> events;
  for (std::size_t i = 0; i < graph.resources.size(); ++i)
    events.push_back(
        fmt::format(R"({{"ph":"M","pid":0,"tid":{},"name":"thread_name","args":{{"name":{}}}}})", i,
                    quoted(graph.resources[i])));
  for (std::size_t i = 0; i < graph.tasks.size(); ++i)
    for (const Resource resource : graph.tasks[i].resources)
      events.push_back(fmt::format(R"({{"ph":"X","pid":0,"tid":{},"ts":{},"dur":{},"name":{}}})",
                                   resource, microseconds(timetable.tasks[i].start),
                                   microseconds(graph.tasks[i].duration),
                                   quoted(graph.tasks[i].name)));
  const auto steps = memory_over_time(graph, timetable);
  for (std::size_t memory = 0; memory < steps.size(); ++memory)
    for (const MemoryStep& step : steps[memory])
      events.push_back(
          fmt::format(R"({{"ph":"C","pid":0,"ts":{},"name":{},"args":{{"bytes":{}}}}})",
                      microseconds(step.time), quoted(graph.memories[memory]), step.bytes));
  return fmt::format("{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{}\n]}}\n",
                     fmt::join(events, ",\n"));
}

}  // namespace lemma::simulator
