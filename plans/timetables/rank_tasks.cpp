#include "plans/timetables/rank_tasks.h"

#include <algorithm>

#include <fmt/format.h>

namespace lemma::plans {

using simulator::TaskNumber;

RankTasks::RankTasks(std::size_t ranks, bool overlaps)
    : ranks_(ranks), overlaps_(overlaps), last_(ranks, 0) {
  for (const char* what : {"device", "out of", "into"})
    for (std::size_t rank = 0; rank < ranks; ++rank)
      graph_.resources.push_back(fmt::format("{} {}", what, rank));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    graph_.memories.push_back(fmt::format("memory {}", rank));
    // What a rank has from the beginning on is made by this one.
    last_[rank] = graph_.add({fmt::format("begin {}", rank), {}, 0, {}, 0});
  }
}

void RankTasks::add_source(std::size_t rank, ValueId value, double bytes) {
  if (!sources_.emplace(rank, value).second) return;
  makers_[{rank, value}] = static_cast<TaskNumber>(rank);
  graph_.buffers.push_back({static_cast<std::uint32_t>(rank),
                            static_cast<std::uint64_t>(bytes),
                            static_cast<TaskNumber>(rank),
                            {}});
}

Result<TaskNumber> RankTasks::add(std::string name, std::vector<simulator::Resource> resources,
                                  double seconds, const std::vector<Place>& reads) {
  const auto duration = simulator::picoseconds(seconds);
  if (!duration) return bad_input(fmt::format("{}: {} seconds cannot be simulated", name, seconds));
  simulator::Task task{std::move(name), std::move(resources), *duration, {}, 0};
  std::sort(task.resources.begin(), task.resources.end());
  for (const Place& read : reads)
    if (const auto maker = makers_.find(read); maker != makers_.end())
      task.predecessors.push_back(maker->second);
  std::sort(task.predecessors.begin(), task.predecessors.end());
  task.predecessors.erase(std::unique(task.predecessors.begin(), task.predecessors.end()),
                          task.predecessors.end());
  const TaskNumber number = graph_.add(std::move(task));
  for (const Place& read : reads)
    if (const auto buffer = buffers_.find(read); buffer != buffers_.end())
      graph_.buffers[buffer->second].readers.push_back(number);
  return number;
}

Result<void> RankTasks::add_computing(std::size_t rank, const std::string& name, double seconds,
                                      const std::vector<ValueId>& reads) {
  std::vector<Place> places;
  for (const ValueId value : reads)
    if (!value.is_none()) places.emplace_back(rank, value);
  LEMMA_ASSIGN_OR_RETURN(last_[rank], add(name, {device(rank)}, seconds, places));
  return {};
}

Result<void> RankTasks::add_message(std::size_t from, std::size_t to, ValueId value,
                                    const std::string& name, double wire_seconds,
                                    double latency_seconds) {
  if (!overlaps_) {
    const double half = (wire_seconds + latency_seconds) / 2;
    LEMMA_ASSIGN_OR_RETURN(const TaskNumber written,
                           add(name, {device(from), port_out(from)}, half, {{from, value}}));
    LEMMA_ASSIGN_OR_RETURN(last_[to], add(name, {device(to), port_in(to)}, half, {}));
    graph_.tasks[last_[to]].predecessors.push_back(written);
    return {};
  }
  LEMMA_ASSIGN_OR_RETURN(const TaskNumber sent,
                         add(name, {port_out(from), port_in(to)}, wire_seconds, {{from, value}}));
  const auto latency = simulator::picoseconds(latency_seconds);
  if (!latency)
    return bad_input(fmt::format("{}: {} seconds cannot be simulated", name, latency_seconds));
  last_[to] = graph_.add({name + ", on its way", {}, *latency, {sent}, 0});
  return {};
}

Result<void> RankTasks::add_exchange(const Group& group, const std::string& name, double seconds,
                                     const std::vector<ValueId>& operands, bool is_sent) {
  if (!is_sent) {
    for (std::size_t i = 0; i < group.size(); ++i)
      LEMMA_RETURN_IF_ERROR(add_computing(group[i], name, seconds, {operands[i]}));
    return {};
  }
  std::vector<simulator::Resource> ports;
  std::vector<Place> reads;
  for (std::size_t i = 0; i < group.size(); ++i) {
    ports.push_back(port_out(group[i]));
    ports.push_back(port_in(group[i]));
    if (!overlaps_) ports.push_back(device(group[i]));
    reads.emplace_back(group[i], operands[i]);
  }
  LEMMA_ASSIGN_OR_RETURN(const TaskNumber number, add(name, std::move(ports), seconds, reads));
  for (const std::size_t rank : group) last_[rank] = number;
  return {};
}

void RankTasks::gives(std::size_t rank, ValueId value, double bytes) {
  if (sources_.contains({rank, value})) return;
  makers_[{rank, value}] = last_[rank];
  buffers_[{rank, value}] = graph_.buffers.size();
  graph_.buffers.push_back(
      {static_cast<std::uint32_t>(rank), static_cast<std::uint64_t>(bytes), last_[rank], {}});
}

simulator::TaskGraph RankTasks::task_graph() && {
  // What nobody reads is let go when it is made; a buffer without readers would be kept.
  for (const auto& [place, number] : buffers_) {
    simulator::Buffer& buffer = graph_.buffers[number];
    if (kept_.contains(place))
      buffer.readers.clear();
    else if (buffer.readers.empty())
      buffer.readers.push_back(buffer.maker);
  }
  return std::move(graph_);
}

}  // namespace lemma::plans
