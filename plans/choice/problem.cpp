#include "plans/choice/problem.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

namespace lemma::choice {

namespace {

/// More would not fit into the sum of bytes.
constexpr Bytes most_bytes = Bytes{1} << 44U;

Result<void> check_node(const Node& node, NodeNumber number) {
  if (node.strategies.empty()) return bad_input(fmt::format("node {}: no strategies", number));
  if (node.begin > node.end)
    return bad_input(fmt::format("node {}: its memory ends before it begins", number));
  for (std::size_t at = 0; at < node.strategies.size(); ++at) {
    const Strategy& strategy = node.strategies[at];
    if (!(strategy.seconds >= 0) || std::isinf(strategy.seconds))
      return bad_input(
          fmt::format("node {}, strategy {}: its time is {}; a finite number from 0 on is needed",
                      number, at, strategy.seconds));
    if (strategy.bytes > most_bytes)
      return bad_input(
          fmt::format("node {}, strategy {}: it has more than 2^44 bytes", number, at));
  }
  return {};
}

Result<void> check_edge(const Problem& problem, std::size_t number) {
  const Edge& edge = problem.edges[number];
  if (edge.from >= problem.nodes.size() || edge.to >= problem.nodes.size())
    return bad_input(fmt::format("edge {}: its nodes are {} and {}; there are {} nodes", number,
                                 edge.from, edge.to, problem.nodes.size()));
  if (edge.from == edge.to)
    return bad_input(fmt::format("edge {}: it connects node {} with itself", number, edge.from));
  const std::size_t size =
      problem.nodes[edge.from].strategies.size() * problem.nodes[edge.to].strategies.size();
  if (edge.seconds.size() != size)
    return bad_input(
        fmt::format("edge {}: it has {} times; {} are needed", number, edge.seconds.size(), size));
  for (const double seconds : edge.seconds)
    if (!(seconds >= 0))
      return bad_input(
          fmt::format("edge {}: a time is {}; a number from 0 on is needed", number, seconds));
  return {};
}

}  // namespace

Result<void> check_problem(const Problem& problem) {
  for (NodeNumber number = 0; number < problem.nodes.size(); ++number)
    LEMMA_RETURN_IF_ERROR(check_node(problem.nodes[number], number));
  for (std::size_t number = 0; number < problem.edges.size(); ++number)
    LEMMA_RETURN_IF_ERROR(check_edge(problem, number));
  for (const std::vector<NodeNumber>& group : problem.alike)
    for (const NodeNumber number : group) {
      if (number >= problem.nodes.size())
        return bad_input(fmt::format("nodes that are alike: there is no node {}", number));
      const std::size_t size = problem.nodes[number].strategies.size();
      const std::size_t first = problem.nodes[group.front()].strategies.size();
      if (size != first)
        return bad_input(
            fmt::format("nodes that are alike: node {} has {} strategies, and node {} has {}",
                        group.front(), first, number, size));
    }
  return {};
}

double seconds_of(const Problem& problem, const Choice& choice) {
  double sum = 0;
  for (NodeNumber number = 0; number < problem.nodes.size(); ++number)
    sum += problem.nodes[number].strategies[choice[number]].seconds;
  for (const Edge& edge : problem.edges)
    sum += edge.seconds[choice[edge.from] * problem.nodes[edge.to].strategies.size() +
                        choice[edge.to]];
  return sum;
}

Bytes peak_of(const Problem& problem, const Choice& choice) {
  // What comes and what goes at each moment.
  std::map<Moment, std::pair<Bytes, Bytes>> changes;
  for (NodeNumber number = 0; number < problem.nodes.size(); ++number) {
    const Node& node = problem.nodes[number];
    if (node.begin == node.end) continue;
    const Bytes bytes = node.strategies[choice[number]].bytes;
    changes[node.begin].first += bytes;
    changes[node.end].second += bytes;
  }
  Bytes there = 0, most = 0;
  for (const auto& [moment, change] : changes) {
    there += change.first;
    there -= change.second;
    most = std::max(most, there);
  }
  return most;
}

bool is_allowed(const Problem& problem, const Choice& choice) {
  for (const std::vector<NodeNumber>& group : problem.alike)
    for (const NodeNumber number : group)
      if (choice[number] != choice[group.front()]) return false;
  return !problem.limit || peak_of(problem, choice) <= *problem.limit;
}

}  // namespace lemma::choice
