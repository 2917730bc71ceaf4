#include "plans/collectives/schedule.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace lemma::collectives {

Counts counts_of(const Schedule& schedule) {
  Counts counts;
  std::vector<std::uint64_t> sent_in_all(schedule.nodes);
  counts.steps = schedule.steps.size();
  for (const Step& step : schedule.steps) {
    std::vector<std::uint64_t> sent(schedule.nodes), received(schedule.nodes);
    for (const Send& send : step.sends) {
      ++sent.at(send.from);
      ++sent_in_all.at(send.from);
      ++received.at(send.to);
    }
    std::uint64_t busiest = 0;
    for (std::size_t node = 0; node < schedule.nodes; ++node)
      busiest = std::max({busiest, sent[node], received[node]});
    counts.rounds += step.rounds;
    counts.path += busiest;
    counts.total += step.sends.size();
  }
  for (const std::uint64_t sent : sent_in_all) counts.most = std::max(counts.most, sent);
  return counts;
}

double seconds_of(const Topology& topology, const Schedule& schedule, double tensor_bytes) {
  double seconds = 0;
  for (const Step& step : schedule.steps) {
    std::map<std::size_t, std::size_t> loads;  // chunks by link
    for (const Send& send : step.sends)
      if (const auto link = topology.link(send.from, send.to)) ++loads[*link];
    double slowest = 0;
    const auto take = [&](double latency, double bandwidth, std::size_t chunks) {
      const double bytes = tensor_bytes * static_cast<double>(chunks) / schedule.chunks;
      slowest = std::max(slowest, latency + bytes / bandwidth);
    };
    for (const auto& [number, chunks] : loads)
      take(topology.links[number].latency_seconds, topology.links[number].bytes_per_second, chunks);
    for (const Port& port : topology.ports) {
      std::size_t chunks = 0;
      for (const std::size_t link : port.links)
        if (const auto load = loads.find(link); load != loads.end()) chunks += load->second;
      if (chunks == 0) continue;
      const Link& first = topology.links[port.links.front()];
      take(first.latency_seconds, first.bytes_per_second / first.capacity * port.capacity, chunks);
    }
    seconds += slowest;
  }
  return seconds;
}

bool has_schedules(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::all_gather ||
         collective == Collective::reduce_scatter || collective == Collective::broadcast;
}

Result<Collective> collective_named(std::string_view text) {
  for (int number = 0; number < clusters::collective_count; ++number) {
    const auto collective = static_cast<Collective>(number);
    if (has_schedules(collective) && name(collective) == text) return collective;
  }
  return bad_input(fmt::format(
      "collective '{}': is none; there are all-reduce, all-gather, reduce-scatter, broadcast",
      text));
}

}  // namespace lemma::collectives
