#include "plans/networks/network.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace lemma::networks {

namespace {

/// Which devices links lead to from device 0; backwards: which they lead from to it.
std::vector<bool> reached(const Wiring& wiring, bool backwards) {
  std::vector<bool> is_reached(wiring.devices(), false);
  std::vector<Node> waiting = {0};
  is_reached[0] = true;
  while (!waiting.empty()) {
    const Node device = waiting.back();
    waiting.pop_back();
    for (Node other = 0; other < wiring.devices(); ++other) {
      const std::size_t links =
          backwards ? wiring.links(other, device) : wiring.links(device, other);
      if (links == 0 || is_reached[other]) continue;
      is_reached[other] = true;
      waiting.push_back(other);
    }
  }
  return is_reached;
}

}  // namespace

std::size_t Wiring::sending(Node device) const {
  std::size_t sum = 0;
  for (Node other = 0; other < devices_; ++other) sum += links(device, other);
  return sum;
}

std::size_t Wiring::receiving(Node device) const {
  std::size_t sum = 0;
  for (Node other = 0; other < devices_; ++other) sum += links(other, device);
  return sum;
}

std::optional<std::string> fault_of(const Wiring& wiring) {
  for (Node device = 0; device < wiring.devices(); ++device) {
    if (wiring.links(device, device) > 0)
      return fmt::format("device {} has a link to itself", device);
    for (const auto& [verb, links] : {std::pair("sends", wiring.sending(device)),
                                      std::pair("receives", wiring.receiving(device))})
      if (links > wiring.degree())
        return fmt::format("device {} {} over {} links; it has {} ports", device, verb, links,
                           wiring.degree());
  }
  if (wiring.devices() == 0) return "there is no device";
  for (const bool backwards : {false, true}) {
    const std::vector<bool> is_reached = reached(wiring, backwards);
    const auto lost = std::find(is_reached.begin(), is_reached.end(), false);
    if (lost == is_reached.end()) continue;
    const auto device = lost - is_reached.begin();
    return backwards ? fmt::format("no path leads from device {} to device 0", device)
                     : fmt::format("no path leads from device 0 to device {}", device);
  }
  return std::nullopt;
}

Network network_of(const Wiring& wiring, const LinkSpeed& link, std::string name) {
  Network network{std::move(name), wiring.devices(), 0, {}};
  for (Node from = 0; from < wiring.devices(); ++from)
    for (Node to = 0; to < wiring.devices(); ++to)
      if (const std::size_t links = wiring.links(from, to); links > 0)
        network.links.push_back(
            {from, to, {link.latency_seconds, link.bytes_per_second * static_cast<double>(links)}});
  return network;
}

Network switched(std::size_t devices, const LinkSpeed& port, std::string name) {
  Network network{std::move(name), devices, 1, {}};
  const auto hub = static_cast<Node>(devices);
  const LinkSpeed half{port.latency_seconds / 2, port.bytes_per_second};
  for (Node device = 0; device < devices; ++device) network.links.push_back({device, hub, half});
  for (Node device = 0; device < devices; ++device) network.links.push_back({hub, device, half});
  return network;
}

Wiring torus(std::size_t rows, std::size_t columns) {
  Wiring wiring(rows * columns, (rows > 1 ? 2 : 0) + (columns > 1 ? 2 : 0));
  const auto node = [&](std::size_t row, std::size_t column) {
    return static_cast<Node>(row % rows * columns + column % columns);
  };
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column)
      for (const Node next : {node(row + 1, column), node(row, column + 1)}) {
        if (next == node(row, column)) continue;
        wiring.add(node(row, column), next);
        wiring.add(next, node(row, column));
      }
  return wiring;
}

}  // namespace lemma::networks
