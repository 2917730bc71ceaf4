#include "plans/collectives/topology.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "plans/clusters/cluster.h"

namespace lemma::collectives {

namespace {

bool is_before(const Link& left, const Link& right) {
  return std::pair(left.from, left.to) < std::pair(right.from, right.to);
}

/// A device's link to a switch.
struct Spoke {
  double latency_seconds = 0;
  double bytes_per_second = 0;
};

/// A switch that two devices are linked to.
struct Joint {
  clusters::End hub = 0;
  double latency_seconds = 0;
  double bytes_per_second = 0;
};

class ClusterReader {
 public:
  explicit ClusterReader(const clusters::Cluster& cluster) : cluster_(cluster) {}

  Result<Topology> read() {
    topology_.name = cluster_.name;
    topology_.nodes = cluster_.devices.size();
    if (topology_.nodes > most_nodes)
      return bad_input(fmt::format("the cluster '{}' has {} devices; at most {} are needed",
                                   cluster_.name, topology_.nodes, most_nodes));
    LEMMA_RETURN_IF_ERROR(read_links());
    join_by_switches();
    std::sort(topology_.links.begin(), topology_.links.end(), is_before);
    set_capacities();
    return check();
  }

 private:
  Result<void> read_links() {
    for (const clusters::Link& link : cluster_.links) {
      if (link.is_one_way && std::max(link.from, link.to) >= topology_.nodes)
        return unsupported(
            fmt::format("the cluster '{}': a link of a switch leads one way; collectives are "
                        "planned where links of switches lead both ways",
                        cluster_.name));
      lowest_ = lowest_ == 0 ? link.bytes_per_second : std::min(lowest_, link.bytes_per_second);
      const auto [device, other] = std::minmax(link.from, link.to);
      if (device >= topology_.nodes) continue;  // of two switches
      if (other >= topology_.nodes) {
        spokes_[other][device] = {link.latency_seconds, link.bytes_per_second};
      } else if (link.is_one_way) {
        topology_.links.push_back(
            {link.from, link.to, 1, link.latency_seconds, link.bytes_per_second});
        joined_.insert({{device, other}, {}});
      } else {
        add_pair(device, other, link.latency_seconds, link.bytes_per_second);
      }
    }
    return {};
  }

  void add_pair(Node one, Node other, double latency, double bandwidth) {
    topology_.links.push_back({one, other, 1, latency, bandwidth});
    topology_.links.push_back({other, one, 1, latency, bandwidth});
    joined_.insert({{one, other}, {}});
  }

  void join_by_switches() {
    std::map<std::pair<Node, Node>, Joint> best;
    for (const auto& [hub, devices] : spokes_)
      for (auto one = devices.begin(); one != devices.end(); ++one)
        for (auto other = std::next(one); other != devices.end(); ++other) {
          const std::pair ends(one->first, other->first);
          if (joined_.contains(ends)) continue;
          const Joint joint{hub, one->second.latency_seconds + other->second.latency_seconds,
                            std::min(one->second.bytes_per_second, other->second.bytes_per_second)};
          const auto [at, is_new] = best.try_emplace(ends, joint);
          if (!is_new && joint.bytes_per_second > at->second.bytes_per_second) at->second = joint;
        }
    for (const auto& [ends, joint] : best) {
      add_pair(ends.first, ends.second, joint.latency_seconds, joint.bytes_per_second);
      joined_[ends] = joint.hub;
    }
  }

  std::uint32_t capacity(double bytes_per_second) const {
    // Bandwidths of files have few digits; 3 times a bandwidth may be a little less than that.
    return static_cast<std::uint32_t>(std::floor(bytes_per_second / lowest_ * (1 + 1e-9)));
  }

  void set_capacities() {
    std::map<std::pair<clusters::End, Node>, Port> out, in;
    for (std::size_t number = 0; number < topology_.links.size(); ++number) {
      Link& link = topology_.links[number];
      link.capacity = capacity(link.bytes_per_second);
      const auto hub = joined_.at(std::minmax(link.from, link.to));
      if (!hub) continue;
      out[{*hub, link.from}].links.push_back(number);
      in[{*hub, link.to}].links.push_back(number);
    }
    for (auto* ports : {&out, &in})
      for (auto& [place, port] : *ports) {
        port.node = place.second;
        port.enters = ports == &in;
        port.capacity = capacity(spokes_.at(place.first).at(place.second).bytes_per_second);
        topology_.ports.push_back(std::move(port));
      }
  }

  Result<Topology> check() {
    const auto distances = distances_from(topology_, 0);
    const auto lost = std::find(distances.begin(), distances.end(), std::nullopt);
    if (lost == distances.end()) return std::move(topology_);
    return unsupported(fmt::format(
        "the cluster '{}': devices 0 and {} are joined only by switches behind switches; "
        "collectives are planned where devices have links or a common switch",
        cluster_.name, lost - distances.begin()));
  }

  const clusters::Cluster& cluster_;
  Topology topology_;
  double lowest_ = 0;
  std::map<clusters::End, std::map<Node, Spoke>> spokes_;                 // by switch
  std::map<std::pair<Node, Node>, std::optional<clusters::End>> joined_;  // by which switch
};

}  // namespace

std::optional<std::size_t> Topology::link(Node from, Node to) const {
  const auto at = std::lower_bound(links.begin(), links.end(), Link{from, to}, is_before);
  if (at == links.end() || at->from != from || at->to != to) return std::nullopt;
  return static_cast<std::size_t>(at - links.begin());
}

Result<Topology> topology_of(const clusters::Cluster& cluster) {
  return ClusterReader(cluster).read();
}

Topology reversed(const Topology& topology) {
  Topology result = topology;
  std::vector<std::size_t> order(topology.links.size());
  for (std::size_t number = 0; number < order.size(); ++number) order[number] = number;
  for (Link& link : result.links) std::swap(link.from, link.to);
  std::sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    return is_before(result.links[left], result.links[right]);
  });
  const std::vector<Link> links = result.links;
  std::vector<std::size_t> place(order.size());
  for (std::size_t number = 0; number < order.size(); ++number) {
    result.links[number] = links[order[number]];
    place[order[number]] = number;
  }
  for (Port& port : result.ports) {
    port.enters = !port.enters;
    for (std::size_t& link : port.links) link = place[link];
    std::sort(port.links.begin(), port.links.end());
  }
  return result;
}

std::vector<std::optional<std::size_t>> distances_from(const Topology& topology, Node node) {
  std::vector<std::optional<std::size_t>> distances(topology.nodes);
  std::vector<Node> reached = {node};
  distances[node] = 0;
  for (std::size_t at = 0; at < reached.size(); ++at) {
    const auto first = std::lower_bound(topology.links.begin(), topology.links.end(),
                                        Link{reached[at], 0}, is_before);
    for (auto link = first; link != topology.links.end() && link->from == reached[at]; ++link) {
      if (distances[link->to]) continue;
      distances[link->to] = *distances[link->from] + 1;
      reached.push_back(link->to);
    }
  }
  return distances;
}

}  // namespace lemma::collectives
