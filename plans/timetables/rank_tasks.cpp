#include "plans/timetables/rank_tasks.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lemma::plans {

using simulator::TaskNumber;

namespace {

traces::Operation message_end(traces::Operation operation, std::size_t peer, std::uint64_t tag,
                              double bytes) {
  operation.peer = peer;
  operation.tag = tag;
  operation.bytes = static_cast<std::uint64_t>(bytes);
  return operation;
}

}  // namespace

RankTasks::RankTasks(std::size_t ranks, bool overlaps, traces::Traces* recorded)
    : ranks_(ranks), overlaps_(overlaps), recorded_(recorded), last_(ranks, 0) {
  if (recorded_ != nullptr) recorded_->ranks.resize(ranks);
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

traces::Operation* RankTasks::record(std::size_t rank, TaskNumber number,
                                     traces::OperationKind kind,
                                     const std::vector<ValueId>& reads) {
  if (recorded_ == nullptr) return nullptr;
  traces::Operation operation;
  operation.number = number;
  operation.name = graph_.tasks[number].name;
  operation.kind = kind;
  operation.picoseconds = graph_.tasks[number].duration;
  for (const ValueId value : reads)
    if (const auto maker = makers_.find({rank, value});
        maker != makers_.end() && maker->second >= ranks_)
      operation.waits_for.push_back(maker->second);
  std::sort(operation.waits_for.begin(), operation.waits_for.end());
  operation.waits_for.erase(std::unique(operation.waits_for.begin(), operation.waits_for.end()),
                            operation.waits_for.end());
  return &recorded_->ranks[rank].emplace_back(std::move(operation));
}

Result<void> RankTasks::add_waiting(std::size_t rank, const std::string& name,
                                    const std::vector<ValueId>& reads) {
  std::vector<Place> places;
  for (const ValueId value : reads) places.emplace_back(rank, value);
  LEMMA_ASSIGN_OR_RETURN(last_[rank], add(name, {}, 0, places));
  record(rank, last_[rank], traces::OperationKind::wait, reads);
  return {};
}

Result<void> RankTasks::add_computing(std::size_t rank, const std::string& name, double seconds,
                                      const std::vector<ValueId>& reads) {
  std::vector<Place> places;
  for (const ValueId value : reads)
    if (!value.is_none()) places.emplace_back(rank, value);
  LEMMA_ASSIGN_OR_RETURN(last_[rank], add(name, {device(rank)}, seconds, places));
  record(rank, last_[rank], traces::OperationKind::compute, reads);
  return {};
}

Result<TaskNumber> RankTasks::add_transfer(std::size_t from, std::size_t to, ValueId value,
                                           const std::string& name, const Message& message) {
  if (!overlaps_) {
    const double half = (message.wire_seconds + message.latency_seconds) / 2;
    LEMMA_ASSIGN_OR_RETURN(const TaskNumber written,
                           add(name, {device(from), port_out(from)}, half, {{from, value}}));
    LEMMA_ASSIGN_OR_RETURN(last_[to], add(name, {device(to), port_in(to)}, half, {}));
    graph_.tasks[last_[to]].predecessors.push_back(written);
    return written;
  }
  LEMMA_ASSIGN_OR_RETURN(const TaskNumber sent, add(name, {port_out(from), port_in(to)},
                                                    message.wire_seconds, {{from, value}}));
  const auto latency = simulator::picoseconds(message.latency_seconds);
  if (!latency)
    return bad_input(
        fmt::format("{}: {} seconds cannot be simulated", name, message.latency_seconds));
  last_[to] = graph_.add({name + ", on its way", {}, *latency, {sent}, 0});
  return sent;
}

Result<void> RankTasks::add_message(std::size_t from, std::size_t to, ValueId value,
                                    const std::string& name, const Message& message) {
  LEMMA_ASSIGN_OR_RETURN(const TaskNumber sent, add_transfer(from, to, value, name, message));
  last_[from] = sent;
  const std::uint64_t tag = tags_.emplace(name, tags_.size()).first->second;
  traces::Operation* const out = record(from, sent, traces::OperationKind::send, {value});
  if (out != nullptr) *out = message_end(std::move(*out), to, tag, message.bytes);
  traces::Operation* const in = record(to, last_[to], traces::OperationKind::receive, {});
  if (in != nullptr) *in = message_end(std::move(*in), from, tag, message.bytes);
  return {};
}

Result<void> RankTasks::add_exchange(const Group& group, const std::string& name, double seconds,
                                     const std::vector<ValueId>& operands,
                                     std::optional<double> bytes) {
  if (!bytes) {
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
  for (std::size_t i = 0; i < group.size(); ++i) {
    last_[group[i]] = number;
    traces::Operation* const operation =
        record(group[i], number, traces::OperationKind::collective, {operands[i]});
    if (operation == nullptr) continue;
    operation->collective = name;
    operation->bytes = static_cast<std::uint64_t>(*bytes);
    operation->group = fmt::format("{}", fmt::join(group, "-"));
    recorded_->groups.emplace(operation->group, group);
  }
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
