#pragma once
// The routes of a network: shortest paths in links, between all devices.

#include <cstdint>
#include <span>
#include <vector>

#include "plans/networks/network.h"

namespace lemma::networks {

/// A part of what is sent between two devices, on one link.
struct Flow {
  std::uint32_t link = 0;
  double share = 0;
};

/// Messages take the paths with the fewest links. Where several next links are on such paths, a message is split over them in
/// proportion to their bandwidths (as in ECMP). Devices on the way forward it, so that it takes bandwidth on each link that it passes.
/// All devices have to be reachable.
class Routes {
 public:
  explicit Routes(const Network& network);

  /// Of the longest of these paths.
  double latency_seconds(Node from, Node to) const { return latencies_[from * devices_ + to]; }
  std::size_t links(Node from, Node to) const { return hops_[from * devices_ + to]; }
  std::span<const Flow> flows(Node from, Node to) const {
    const std::size_t pair = from * devices_ + to;
    return {flows_.data() + starts_[pair], flows_.data() + starts_[pair + 1]};
  }
  std::size_t link_count() const { return seconds_per_byte_.size(); }
  double seconds_per_byte(std::uint32_t link) const { return seconds_per_byte_[link]; }

 private:
  std::size_t devices_;
  std::vector<double> latencies_;    // by from, then by to
  std::vector<std::size_t> hops_;    // the same
  std::vector<std::size_t> starts_;  // the same: where the flows are
  std::vector<Flow> flows_;
  std::vector<double> seconds_per_byte_;  // by link
};

}  // namespace lemma::networks
