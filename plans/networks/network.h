#pragma once
// Networks of devices: directed links between devices and switches. Knows nothing of tensors or plans.
//
// A *wiring* says how ports are connected by a patch panel: each device has `degree` ports that send and as many that receive, and
// a link leads from a sending port to a receiving one (TopoOpt; Wang et al., NSDI 2023, section 3).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lemma::networks {

/// Devices have the first numbers, and switches the following ones.
using Node = std::uint32_t;

/// What each link of a network has. A message takes latency + bytes / bytes_per_second on it.
struct LinkSpeed {
  double latency_seconds = 0;
  double bytes_per_second = 0;
};

struct Link {
  Node from = 0, to = 0;
  LinkSpeed speed;
};

struct Network {
  std::string name;
  std::size_t devices = 0;
  std::size_t switches = 0;
  std::vector<Link> links;  // no two have the same ends; ascending by them

  std::size_t nodes() const { return devices + switches; }
};

/// A directed multigraph of devices.
class Wiring {
 public:
  Wiring(std::size_t devices, std::size_t degree)
      : devices_(devices), degree_(degree), counts_(devices * devices, 0) {}

  std::size_t devices() const { return devices_; }
  std::size_t degree() const { return degree_; }
  /// How many links lead from one device to another one.
  std::size_t links(Node from, Node to) const { return counts_[from * devices_ + to]; }
  void add(Node from, Node to, std::size_t links = 1) {
    counts_[from * devices_ + to] =
        static_cast<std::uint16_t>(counts_[from * devices_ + to] + links);
  }
  void remove(Node from, Node to) { --counts_[from * devices_ + to]; }
  /// Ports in use.
  std::size_t sending(Node device) const;
  std::size_t receiving(Node device) const;

  bool operator==(const Wiring&) const = default;

 private:
  std::size_t devices_, degree_;
  std::vector<std::uint16_t> counts_;  // by from, then by to
};

/// What is wrong with a wiring, as a line: a device with more links than ports, a link from a device to itself, a device that another
/// one has no path to. Nothing where it is right.
std::optional<std::string> fault_of(const Wiring& wiring);

/// Several links between two devices are one with the sum of their bandwidths.
Network network_of(const Wiring& wiring, const LinkSpeed& link, std::string name);
/// One switch that never delays: each device has a port of this speed to it, in both directions. A message takes the latency once.
Network switched(std::size_t devices, const LinkSpeed& port, std::string name);
/// A grid that is closed in both directions, with links both ways: 4 ports for each device; 2 where there is one row.
Wiring torus(std::size_t rows, std::size_t columns);

/// A picture of the network as SVG: devices in a circle, links as arcs.
std::string picture_svg(const Network& network);

}  // namespace lemma::networks
