#include "plans/collectives/timed.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

namespace lemma::collectives {

Time TimedSchedule::end() const {
  Time last = 0;
  for (const TimedSend& send : sends) last = std::max(last, send.end);
  return last;
}

Time time_on(const Link& link, double chunk_bytes) {
  return std::llround((link.latency_seconds + chunk_bytes / link.bytes_per_second) * 1e12);
}

namespace {

/// From when to when a link carries something, by its number.
using SendsOfLinks = std::map<std::size_t, std::vector<std::pair<Time, Time>>>;

/// Whether links and ports carry one chunk at a time.
std::optional<std::string> fault_of_loads(const Topology& topology, const SendsOfLinks& of_link) {
  const auto overlap = [](std::vector<std::pair<Time, Time>> sends) {
    std::sort(sends.begin(), sends.end());
    for (std::size_t at = 1; at < sends.size(); ++at)
      if (sends[at].first < sends[at - 1].second) return std::optional(sends[at].first);
    return std::optional<Time>();
  };
  const auto text = [&](std::size_t link, std::string_view what, Time time) {
    return fmt::format("the {} from {} to {} carries two chunks at {} picoseconds", what,
                       topology.links[link].from, topology.links[link].to, time);
  };
  for (const auto& [link, sends] : of_link)
    if (const auto time = overlap(sends)) return text(link, "link", *time);
  for (const Port& port : topology.ports) {
    std::vector<std::pair<Time, Time>> all;
    for (const std::size_t link : port.links)
      if (const auto sends = of_link.find(link); sends != of_link.end())
        all.insert(all.end(), sends->second.begin(), sends->second.end());
    if (const auto time = overlap(all))
      return text(port.links.front(), "port with the link", *time);
  }
  return std::nullopt;
}

/// Why the link of a send cannot carry it; otherwise its times are kept.
std::optional<std::string> fault_on_link(const Topology& topology, const TimedSchedule& schedule,
                                         const TimedSend& send, SendsOfLinks& of_link) {
  const auto link = topology.link(send.from, send.to);
  if (send.chunk >= schedule.chunks)
    return fmt::format("there are {} chunks, from 0 on", schedule.chunks);
  if (!link) return fmt::format("no link leads from {} to {}", send.from, send.to);
  const Time takes = time_on(topology.links[*link], schedule.chunk_bytes);
  if (send.begin < 0 || send.end - send.begin != takes)
    return fmt::format("it takes {} picoseconds; the link takes {}", send.end - send.begin, takes);
  of_link[*link].emplace_back(send.begin, send.end);
  return std::nullopt;
}

std::string text_of(std::size_t number, const TimedSend& send, std::string_view fault) {
  return fmt::format("send {} (chunk {} from {} to {}): {}", number + 1, send.chunk, send.from,
                     send.to, fault);
}

class TimedReplay {
 public:
  TimedReplay(const Topology& topology, const TimedSchedule& schedule)
      : topology_(topology), schedule_(schedule) {}

  std::optional<std::string> fault() {
    const bool is_gather = schedule_.collective == Collective::all_gather;
    if (!is_gather && schedule_.collective != Collective::broadcast)
      return fmt::format("there are no timed schedules of {}", name(schedule_.collective));
    if (schedule_.chunks == 0 || (is_gather && schedule_.chunks % schedule_.nodes != 0))
      return fmt::format("there are {} chunks", schedule_.chunks);
    for (std::uint32_t chunk = 0; chunk < schedule_.chunks; ++chunk)
      arrival_[{is_gather ? static_cast<Node>(chunk / (schedule_.chunks / schedule_.nodes))
                          : schedule_.root,
                chunk}] = 0;
    for (std::size_t number = 0; number < schedule_.sends.size(); ++number) {
      const TimedSend& send = schedule_.sends[number];
      if (const auto fault = fault_of_send(send)) return text_of(number, send, *fault);
    }
    if (const auto fault = fault_of_loads(topology_, of_link_)) return fault;
    for (Node node = 0; node < schedule_.nodes; ++node)
      for (std::uint32_t chunk = 0; chunk < schedule_.chunks; ++chunk)
        if (!arrival_.contains({node, chunk}))
          return fmt::format("the end: node {} does not have chunk {}", node, chunk);
    return std::nullopt;
  }

 private:
  std::optional<std::string> fault_of_send(const TimedSend& send) {
    if (send.action != Action::copy) return "nothing is added up";
    if (auto fault = fault_on_link(topology_, schedule_, send, of_link_)) return fault;
    // Sends are in the order of their begins, so that what has arrived by then stands before.
    const auto there = arrival_.find({send.from, send.chunk});
    if (there == arrival_.end() || there->second > send.begin)
      return fmt::format("node {} does not have chunk {} at {} picoseconds", send.from, send.chunk,
                         send.begin);
    if (!arrival_.try_emplace({send.to, send.chunk}, send.end).second)
      return fmt::format("node {} has chunk {}, or gets it", send.to, send.chunk);
    return std::nullopt;
  }

  const Topology& topology_;
  const TimedSchedule& schedule_;
  std::map<std::pair<Node, std::uint32_t>, Time> arrival_;
  SendsOfLinks of_link_;
};

/// A reduce-scatter or an all-reduce: of each node and chunk, whose operands are in what it has.
class TimedSums {
 public:
  TimedSums(const Topology& topology, const TimedSchedule& schedule)
      : topology_(topology),
        schedule_(schedule),
        words_((schedule.nodes + 63) / 64),
        held_(schedule.nodes * schedule.chunks * words_, 0) {}

  std::optional<std::string> fault() {
    for (Node node = 0; node < schedule_.nodes; ++node)
      for (std::uint32_t chunk = 0; chunk < schedule_.chunks; ++chunk)
        held(node, chunk)[node / 64] |= std::uint64_t{1} << node % 64;
    for (std::size_t number = 0; number < schedule_.sends.size(); ++number) {
      const TimedSend& send = schedule_.sends[number];
      if (auto fault = arrive_until(send.begin)) return fault;
      if (const auto fault = fault_on_link(topology_, schedule_, send, of_link_))
        return text_of(number, send, *fault);
      if (send.action == Action::copy && !is_finished(send.from, send.chunk))
        return text_of(number, send, "the chunk is not finished there");
      const std::uint64_t* sum = held(send.from, send.chunk);
      arrivals_.emplace(std::pair(send.end, number), Words(sum, sum + words_));
    }
    if (auto fault = arrive_until(schedule_.end())) return fault;
    if (auto fault = fault_of_loads(topology_, of_link_)) return fault;
    return fault_of_end();
  }

 private:
  using Words = std::vector<std::uint64_t>;

  std::uint64_t* held(Node node, std::uint32_t chunk) {
    return held_.data() + (std::size_t{node} * schedule_.chunks + chunk) * words_;
  }
  bool is_finished(Node node, std::uint32_t chunk) {
    std::size_t operands = 0;
    for (std::size_t at = 0; at < words_; ++at)
      operands += static_cast<std::size_t>(std::popcount(held(node, chunk)[at]));
    return operands == schedule_.nodes;
  }

  std::optional<std::string> arrive_until(Time time) {
    while (!arrivals_.empty() && arrivals_.begin()->first.first <= time) {
      const auto& [key, sum] = *arrivals_.begin();
      const TimedSend& send = schedule_.sends[key.second];
      std::uint64_t* own = held(send.to, send.chunk);
      if (send.action == Action::copy && is_finished(send.to, send.chunk))
        return text_of(key.second, send, "the receiver has the finished chunk");
      for (std::size_t at = 0; at < words_; ++at) {
        if (send.action != Action::copy && (own[at] & sum[at]) != 0)
          return text_of(key.second, send, "an operand is added twice");
        own[at] |= sum[at];
      }
      arrivals_.erase(arrivals_.begin());
    }
    return std::nullopt;
  }

  std::optional<std::string> fault_of_end() {
    const bool is_scatter = schedule_.collective == Collective::reduce_scatter;
    const std::size_t of_node = schedule_.chunks / schedule_.nodes;
    for (Node node = 0; node < schedule_.nodes; ++node)
      for (std::uint32_t chunk = 0; chunk < schedule_.chunks; ++chunk)
        if ((!is_scatter || chunk / of_node == node) && !is_finished(node, chunk))
          return fmt::format("the end: node {} does not have all operands of chunk {}", node,
                             chunk);
    return std::nullopt;
  }

  const Topology& topology_;
  const TimedSchedule& schedule_;
  std::size_t words_;  // of a set of operands
  Words held_;
  std::map<std::pair<Time, std::size_t>, Words> arrivals_;  // by end and number of the send
  SendsOfLinks of_link_;
};

}  // namespace

std::optional<std::string> fault_of(const Topology& topology, const TimedSchedule& schedule) {
  if (schedule.nodes != topology.nodes)
    return fmt::format("the schedule is for {} nodes, and '{}' has {}", schedule.nodes,
                       topology.name, topology.nodes);
  if (schedule.collective == Collective::all_gather || schedule.collective == Collective::broadcast)
    return TimedReplay(topology, schedule).fault();
  if (schedule.chunks == 0 || schedule.chunks % schedule.nodes != 0)
    return fmt::format("there are {} chunks", schedule.chunks);
  if (!has_checked_sums(schedule.collective, schedule.nodes, schedule.chunks))
    return fmt::format("there are no timed schedules of {} with so many nodes and chunks",
                       name(schedule.collective));
  return TimedSums(topology, schedule).fault();
}

bool has_checked_sums(Collective collective, std::size_t nodes, std::size_t chunks) {
  constexpr std::size_t most_operands = std::size_t{1} << 33;  // bits: a gigabyte
  return (collective == Collective::reduce_scatter || collective == Collective::all_reduce) &&
         nodes * nodes <= most_operands / chunks;
}

Schedule by_steps(const TimedSchedule& schedule) {
  Schedule steps{schedule.collective, "greedy", schedule.nodes, schedule.chunks, schedule.root, {}};
  std::optional<Time> begin;
  for (const TimedSend& send : schedule.sends) {
    if (begin != send.begin) steps.steps.emplace_back();
    begin = send.begin;
    steps.steps.back().sends.push_back({send.from, send.to, send.chunk, send.action});
  }
  return steps;
}

}  // namespace lemma::collectives
