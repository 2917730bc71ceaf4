#include "plans/collectives/timed.h"

#include <algorithm>
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

class TimedReplay {
 public:
  TimedReplay(const Topology& topology, const TimedSchedule& schedule)
      : topology_(topology), schedule_(schedule) {}

  std::optional<std::string> fault() {
    const bool is_gather = schedule_.collective == Collective::all_gather;
    if (schedule_.nodes != topology_.nodes)
      return fmt::format("the schedule is for {} nodes, and '{}' has {}", schedule_.nodes,
                         topology_.name, topology_.nodes);
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
      if (const auto fault = fault_of_send(send))
        return fmt::format("send {} (chunk {} from {} to {}): {}", number + 1, send.chunk,
                           send.from, send.to, *fault);
    }
    if (const auto fault = fault_of_loads()) return fault;
    for (Node node = 0; node < schedule_.nodes; ++node)
      for (std::uint32_t chunk = 0; chunk < schedule_.chunks; ++chunk)
        if (!arrival_.contains({node, chunk}))
          return fmt::format("the end: node {} does not have chunk {}", node, chunk);
    return std::nullopt;
  }

 private:
  std::optional<std::string> fault_of_send(const TimedSend& send) {
    const auto link = topology_.link(send.from, send.to);
    if (!link) return fmt::format("no link leads from {} to {}", send.from, send.to);
    const Time takes = time_on(topology_.links[*link], schedule_.chunk_bytes);
    if (send.begin < 0 || send.end - send.begin != takes)
      return fmt::format("it takes {} picoseconds; the link takes {}", send.end - send.begin,
                         takes);
    // Sends are in the order of their begins, so that what has arrived by then stands before.
    const auto there = arrival_.find({send.from, send.chunk});
    if (there == arrival_.end() || there->second > send.begin)
      return fmt::format("node {} does not have chunk {} at {} picoseconds", send.from, send.chunk,
                         send.begin);
    if (!arrival_.try_emplace({send.to, send.chunk}, send.end).second)
      return fmt::format("node {} has chunk {}, or gets it", send.to, send.chunk);
    of_link_[*link].emplace_back(send.begin, send.end);
    return std::nullopt;
  }

  std::optional<std::string> fault_of_loads() {
    const auto overlap = [](std::vector<std::pair<Time, Time>> sends) {
      std::sort(sends.begin(), sends.end());
      for (std::size_t at = 1; at < sends.size(); ++at)
        if (sends[at].first < sends[at - 1].second) return std::optional(sends[at].first);
      return std::optional<Time>();
    };
    const auto text = [&](std::size_t link, std::string_view what, Time time) {
      return fmt::format("the {} from {} to {} carries two chunks at {} picoseconds", what,
                         topology_.links[link].from, topology_.links[link].to, time);
    };
    for (const auto& [link, sends] : of_link_)
      if (const auto time = overlap(sends)) return text(link, "link", *time);
    for (const Port& port : topology_.ports) {
      std::vector<std::pair<Time, Time>> all;
      for (const std::size_t link : port.links)
        if (const auto sends = of_link_.find(link); sends != of_link_.end())
          all.insert(all.end(), sends->second.begin(), sends->second.end());
      if (const auto time = overlap(all))
        return text(port.links.front(), "port with the link", *time);
    }
    return std::nullopt;
  }

  const Topology& topology_;
  const TimedSchedule& schedule_;
  std::map<std::pair<Node, std::uint32_t>, Time> arrival_;
  std::map<std::size_t, std::vector<std::pair<Time, Time>>> of_link_;
};

}  // namespace

std::optional<std::string> fault_of(const Topology& topology, const TimedSchedule& schedule) {
  return TimedReplay(topology, schedule).fault();
}

}  // namespace lemma::collectives
