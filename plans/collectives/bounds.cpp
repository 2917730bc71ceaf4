#include "plans/collectives/bounds.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include <fmt/format.h>

namespace lemma::collectives {

namespace {

using Amount = std::int64_t;

/// Maximum flows by levels (Dinic, 1970).
class Network {
 public:
  explicit Network(std::size_t places) : arcs_of_(places) {}

  void add(std::size_t from, std::size_t to, Amount capacity) {
    arcs_of_[from].push_back(arcs_.size());
    arcs_.push_back({to, capacity});
    arcs_of_[to].push_back(arcs_.size());
    arcs_.push_back({from, 0});
  }

  Amount flow(std::size_t source, std::size_t sink) {
    Amount flow = 0;
    while (set_levels(source)[sink] != unreached) {
      next_.assign(arcs_of_.size(), 0);
      while (const Amount amount = push(source, sink, std::numeric_limits<Amount>::max()))
        flow += amount;
    }
    return flow;
  }

  /// After a flow: whether a place is on the side of the source of a minimum cut.
  bool is_on_source_side(std::size_t place) const { return level_[place] != unreached; }

 private:
  static constexpr std::size_t unreached = std::numeric_limits<std::size_t>::max();
  struct Arc {
    std::size_t to;
    Amount rest;
  };

  const std::vector<std::size_t>& set_levels(std::size_t source) {
    level_.assign(arcs_of_.size(), unreached);
    level_[source] = 0;
    std::vector<std::size_t> reached = {source};
    for (std::size_t at = 0; at < reached.size(); ++at)
      for (const std::size_t number : arcs_of_[reached[at]]) {
        const Arc& arc = arcs_[number];
        if (arc.rest == 0 || level_[arc.to] != unreached) continue;
        level_[arc.to] = level_[reached[at]] + 1;
        reached.push_back(arc.to);
      }
    return level_;
  }

  Amount push(std::size_t place, std::size_t sink, Amount amount) {
    if (place == sink) return amount;
    for (std::size_t& at = next_[place]; at < arcs_of_[place].size(); ++at) {
      const std::size_t number = arcs_of_[place][at];
      const Arc arc = arcs_[number];
      if (arc.rest == 0 || level_[arc.to] != level_[place] + 1) continue;
      const Amount pushed = push(arc.to, sink, std::min(amount, arc.rest));
      if (pushed == 0) continue;
      arcs_[number].rest -= pushed;
      arcs_[number ^ 1].rest += pushed;
      return pushed;
    }
    return 0;
  }

  std::vector<Arc> arcs_;
  std::vector<std::vector<std::size_t>> arcs_of_;
  std::vector<std::size_t> level_, next_;
};

/// The nodes, then the ports, then what comes beside: a source.
Network network_of(const Topology& topology, Amount factor) {
  Network network(topology.nodes + topology.ports.size() + 1);
  std::vector<std::optional<std::size_t>> leaving(topology.links.size()), entering = leaving;
  for (std::size_t number = 0; number < topology.ports.size(); ++number) {
    const Port& port = topology.ports[number];
    const std::size_t place = topology.nodes + number;
    if (port.enters)
      network.add(place, port.node, factor * port.capacity);
    else
      network.add(port.node, place, factor * port.capacity);
    for (const std::size_t link : port.links) (port.enters ? entering : leaving)[link] = place;
  }
  for (std::size_t number = 0; number < topology.links.size(); ++number) {
    const Link& link = topology.links[number];
    network.add(leaving[number].value_or(link.from), entering[number].value_or(link.to),
                factor * link.capacity);
  }
  return network;
}

Result<std::uint64_t> farthest(const Topology& topology, Node node) {
  std::uint64_t most = 0;
  const auto distances = distances_from(topology, node);
  for (Node other = 0; other < topology.nodes; ++other) {
    if (!distances[other])
      return bad_input(
          fmt::format("'{}': no path leads from node {} to node {}", topology.name, node, other));
    most = std::max<std::uint64_t>(most, *distances[other]);
  }
  return most;
}

void set_rounds(Bounds& bounds, Amount over, Amount under, std::vector<Node> cut) {
  const Amount divisor = std::gcd(over, under);
  bounds.rounds_over = static_cast<std::uint64_t>(over / divisor);
  bounds.rounds_under = static_cast<std::uint64_t>(under / divisor);
  bounds.cut = std::move(cut);
}

std::vector<Node> side_of(const Network& network, std::size_t nodes) {
  std::vector<Node> side;
  for (Node node = 0; node < nodes; ++node)
    if (network.is_on_source_side(node)) side.push_back(node);
  return side;
}

/// A cut that is worse than the bound, as a flow to a node shows it: where each node sends `under`, and links carry `over` times
/// what they carry, less than that of all nodes reaches it. Nothing where the bound holds.
bool worsen(const Topology& topology, Node node, Bounds& bounds) {
  const auto over = static_cast<Amount>(bounds.rounds_over),
             under = static_cast<Amount>(bounds.rounds_under);
  Network network = network_of(topology, over);
  const std::size_t source = topology.nodes + topology.ports.size();
  for (Node other = 0; other < topology.nodes; ++other) network.add(source, other, under);
  const Amount flow = network.flow(source, node);
  if (flow >= under * static_cast<Amount>(topology.nodes)) return false;
  std::vector<Node> side = side_of(network, topology.nodes);
  const auto inside = static_cast<Amount>(side.size());
  const Amount crossing = (flow - under * (static_cast<Amount>(topology.nodes) - inside)) / over;
  set_rounds(bounds, inside, crossing, std::move(side));
  return true;
}

void bound_gather(const Topology& topology, Bounds& bounds) {
  set_rounds(bounds, 1, std::numeric_limits<std::int32_t>::max(), {});
  for (Node node = 0; node < topology.nodes; ++node)
    while (worsen(topology, node, bounds)) {
    }
}

/// All chunks leave the root for each node.
void bound_broadcast(const Topology& topology, Node root, Bounds& bounds) {
  Amount least = std::numeric_limits<Amount>::max();
  for (Node node = 0; node < topology.nodes; ++node) {
    if (node == root) continue;
    Network network = network_of(topology, 1);
    const Amount flow = network.flow(root, node);
    if (flow >= least) continue;
    least = flow;
    set_rounds(bounds, 1, flow, side_of(network, topology.nodes));
  }
}

/// What all links carry in a round, by what leaves nodes or by what enters them.
Amount carried_by(const Topology& topology, bool enters) {
  std::vector<bool> is_shared(topology.links.size());
  Amount carried = 0;
  for (const Port& port : topology.ports) {
    if (port.enters != enters) continue;
    Amount links = 0;
    for (const std::size_t link : port.links) {
      links += topology.links[link].capacity;
      is_shared[link] = true;
    }
    carried += std::min<Amount>(links, port.capacity);
  }
  for (std::size_t link = 0; link < is_shared.size(); ++link)
    if (!is_shared[link]) carried += topology.links[link].capacity;
  return carried;
}

std::vector<Node> other_side(const Topology& topology, const std::vector<Node>& cut) {
  std::vector<Node> side;
  for (Node node = 0; node < topology.nodes; ++node)
    if (!std::binary_search(cut.begin(), cut.end(), node)) side.push_back(node);
  return side;
}

/// Each chunk crosses each cut both ways, and is sent 2(N-1) times.
void bound_reduction(const Topology& topology, Bounds& bounds) {
  bound_broadcast(topology, 0, bounds);
  Bounds other;
  bound_broadcast(reversed(topology), 0, other);
  if (other.rounds() > bounds.rounds()) {
    other.cut = other_side(topology, other.cut);
    bounds = other;
  }
  const Amount carried = std::min(carried_by(topology, false), carried_by(topology, true));
  const Amount sends = 2 * (static_cast<Amount>(topology.nodes) - 1);
  if (static_cast<double>(sends) / static_cast<double>(carried) > bounds.rounds())
    set_rounds(bounds, sends, carried, {});
}

}  // namespace

Result<Bounds> bounds_of(const Topology& topology, Collective collective, Node root) {
  const Topology used = collective == Collective::reduce_scatter ? reversed(topology) : topology;
  Bounds bounds;
  if (collective == Collective::broadcast) {
    LEMMA_ASSIGN_OR_RETURN(bounds.steps, farthest(used, root));
    bound_broadcast(used, root, bounds);
    return bounds;
  }
  for (Node node = 0; node < used.nodes; ++node) {
    LEMMA_ASSIGN_OR_RETURN(const std::uint64_t far, farthest(used, node));
    bounds.steps = std::max(bounds.steps, far);
  }
  if (collective == Collective::all_reduce)
    bound_reduction(used, bounds);
  else
    bound_gather(used, bounds);
  if (collective == Collective::reduce_scatter) bounds.cut = other_side(used, bounds.cut);
  return bounds;
}

}  // namespace lemma::collectives
