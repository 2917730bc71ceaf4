#include "plans/networks/routes.h"

#include <algorithm>
#include <limits>

namespace lemma::networks {

namespace {

constexpr std::size_t far = std::numeric_limits<std::size_t>::max();

/// The links that leave each node.
std::vector<std::vector<std::uint32_t>> leaving(const Network& network) {
  std::vector<std::vector<std::uint32_t>> links(network.nodes());
  for (std::uint32_t link = 0; link < network.links.size(); ++link)
    links[network.links[link].from].push_back(link);
  return links;
}

/// Links from each node to one device.
std::vector<std::size_t> distances_to(Node device, const Network& network,
                                      const std::vector<std::vector<std::uint32_t>>& entering) {
  std::vector<std::size_t> distances(network.nodes(), far);
  std::vector<Node> waiting = {device};
  distances[device] = 0;
  for (std::size_t i = 0; i < waiting.size(); ++i)
    for (const std::uint32_t link : entering[waiting[i]]) {
      const Node other = network.links[link].from;
      if (distances[other] != far) continue;
      distances[other] = distances[waiting[i]] + 1;
      waiting.push_back(other);
    }
  return distances;
}

/// Sends one unit from a device to another one, nearer and nearer.
class Spreading {
 public:
  Spreading(const Network& network, const std::vector<std::vector<std::uint32_t>>& leaving)
      : network_(network),
        leaving_(leaving),
        shares_(network.nodes(), 0),
        latencies_(network.nodes(), 0) {}

  /// Adds the flows; gives the latency of the longest path.
  double operator()(Node from, Node to, const std::vector<std::size_t>& distances,
                    std::vector<Flow>& flows) {
    shares_[from] = 1;
    latencies_[from] = 0;
    // Nodes of one distance are there before those of the next one.
    order_.assign({from});
    for (std::size_t i = 0; i < order_.size() && order_[i] != to; ++i)
      forward(order_[i], distances, flows);
    const double latency = latencies_[to];
    for (const Node node : order_) shares_[node] = latencies_[node] = 0;
    return latency;
  }

 private:
  void forward(Node node, const std::vector<std::size_t>& distances, std::vector<Flow>& flows) {
    double bandwidth = 0;
    for (const std::uint32_t link : leaving_[node])
      if (is_nearer(link, distances)) bandwidth += network_.links[link].speed.bytes_per_second;
    for (const std::uint32_t link : leaving_[node]) {
      if (!is_nearer(link, distances)) continue;
      const Link& next = network_.links[link];
      const double share = shares_[node] * next.speed.bytes_per_second / bandwidth;
      if (shares_[next.to] == 0) order_.push_back(next.to);
      shares_[next.to] += share;
      latencies_[next.to] =
          std::max(latencies_[next.to], latencies_[node] + next.speed.latency_seconds);
      flows.push_back({link, share});
    }
  }
  bool is_nearer(std::uint32_t link, const std::vector<std::size_t>& distances) const {
    const Link& next = network_.links[link];
    return distances[next.to] != far && distances[next.to] + 1 == distances[next.from];
  }

  const Network& network_;
  const std::vector<std::vector<std::uint32_t>>& leaving_;
  std::vector<double> shares_, latencies_;  // by node; 0 between uses
  std::vector<Node> order_;
};

}  // namespace

Routes::Routes(const Network& network)
    : devices_(network.devices),
      latencies_(devices_ * devices_, 0),
      hops_(devices_ * devices_, 0),
      starts_(devices_ * devices_ + 1, 0) {
  for (const Link& link : network.links)
    seconds_per_byte_.push_back(1 / link.speed.bytes_per_second);
  std::vector<std::vector<std::uint32_t>> entering(network.nodes());
  for (std::uint32_t link = 0; link < network.links.size(); ++link)
    entering[network.links[link].to].push_back(link);
  std::vector<std::vector<std::size_t>> distances;
  for (Node to = 0; to < devices_; ++to) distances.push_back(distances_to(to, network, entering));
  const std::vector<std::vector<std::uint32_t>> out = leaving(network);
  Spreading spread(network, out);
  for (Node from = 0; from < devices_; ++from)
    for (Node to = 0; to < devices_; ++to) {
      const std::size_t pair = from * devices_ + to;
      starts_[pair] = flows_.size();
      hops_[pair] = distances[to][from];
      if (from != to) latencies_[pair] = spread(from, to, distances[to], flows_);
    }
  starts_.back() = flows_.size();
}

}  // namespace lemma::networks
