#pragma once
// Where the data of a collective can go: nodes, and directed links between them.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lemma::clusters {
struct Cluster;
}  // namespace lemma::clusters

namespace lemma::collectives {

using Node = std::uint32_t;

/// A direction of a link. In a round it carries `capacity` chunks. A message takes latency + bytes / bytes_per_second.
struct Link {
  Node from = 0, to = 0;
  std::uint32_t capacity = 1;
  double latency_seconds = 0;
  double bytes_per_second = 0;
};

/// Links that leave a node, or enter it, and share what they can carry: those of a device to all others of its switch.
struct Port {
  Node node = 0;
  bool enters = false;
  std::vector<std::size_t> links;  // ascending
  std::uint32_t capacity = 1;
};

struct Topology {
  std::string name;
  std::size_t nodes = 0;
  std::vector<Link> links;  // ordered by their ends; no two have the same
  std::vector<Port> ports;

  /// The number of the link with these ends.
  std::optional<std::size_t> link(Node from, Node to) const;
};

/// What a link of a named topology has: one value, or one for each axis of a mesh or torus.
struct LinkSpeeds {
  std::vector<double> latency_seconds = {1e-6};
  std::vector<double> bytes_per_second = {25e9};
};

/// More nodes are refused.
inline constexpr std::size_t most_nodes = 4096;

/// `ring:8`, `one-way-ring:8`, `line:8`, `star:8` (node 0 is the middle), `full:8`, `mesh:4x4`, `torus:4x4x4` or
/// `hypercube:3` (2^3 nodes). All links have the capacity 1. In meshes and tori the last coordinate changes first.
Result<Topology> named_topology(std::string_view text, const LinkSpeeds& speeds = {});
/// The text starts with the name of a shape and a colon.
bool is_topology_name(std::string_view text);

/// The devices of a cluster. Two that have a link are joined by it. Two that have none are joined by the fastest switch that both
/// are linked to: a message takes both latencies and the lower bandwidth, and the links of a device to a switch are a port in each
/// direction. Capacities are bandwidths over the lowest one, rounded down. An error where two devices of a cluster are joined by
/// several switches one after the other only.
Result<Topology> topology_of(const clusters::Cluster& cluster);

/// All links the other way.
Topology reversed(const Topology& topology);

/// Links on a shortest path from a node to each other one; nothing where there is none.
std::vector<std::optional<std::size_t>> distances_from(const Topology& topology, Node node);

}  // namespace lemma::collectives
