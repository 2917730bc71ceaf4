#pragma once
// Random problems, and what is found for them by trying everything.

#include <algorithm>
#include <limits>
#include <queue>
#include <random>
#include <vector>

#include "memory_plan/problem.h"

namespace lemma::memory_plan {

inline Problem random_problem(std::mt19937& random, std::size_t count) {
  Problem problem;
  for (NodeNumber number = 0; number < count; ++number) {
    Node node;
    node.seconds = static_cast<double>(random() % 6);
    node.bytes = random() % 8;
    node.workspace = random() % 3 == 0 ? random() % 4 : 0;
    for (NodeNumber operand = 0; operand < number; ++operand)
      if (random() % (1 + number) < 2) node.operands.push_back(operand);
    node.is_kept = number + 1 == count || random() % 5 == 0;
    problem.nodes.push_back(std::move(node));
  }
  return problem;
}

/// A chain, a loss, and what reads the chain backwards, as in a step of training.
inline Problem training_problem(std::mt19937& random, std::size_t length) {
  Problem problem;
  for (NodeNumber number = 0; number < length; ++number) {
    Node node;
    node.seconds = 1 + static_cast<double>(random() % 5);
    node.bytes = 1 + random() % 6;
    if (number > 0) node.operands = {number - 1};
    problem.nodes.push_back(std::move(node));
  }
  for (NodeNumber number = static_cast<NodeNumber>(length); number-- > 0;) {
    Node node;
    node.seconds = 2 * problem.nodes[number].seconds;
    node.bytes = problem.nodes[number].bytes;
    node.operands = {number};
    if (number + 1 < length) {
      node.operands.push_back(number + 1);
      node.operands.push_back(static_cast<NodeNumber>(problem.nodes.size() - 1));
    }
    problem.nodes.push_back(std::move(node));
  }
  problem.nodes.back().is_kept = true;
  return problem;
}

/// The least time of all plans within the limit, by all sets of values that may be there; infinity: no plan fits.
inline double least_seconds_of_all(const Problem& problem, Bytes limit) {
  const std::size_t count = problem.nodes.size();
  std::vector<double> least(std::size_t{1} << count, std::numeric_limits<double>::infinity());
  using Entry = std::pair<double, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  const auto reach = [&](std::size_t there, double seconds) {
    if (seconds >= least[there]) return;
    least[there] = seconds;
    open.emplace(seconds, there);
  };
  reach(0, 0);
  while (!open.empty()) {
    const auto [seconds, there] = open.top();
    open.pop();
    if (seconds > least[there]) continue;
    Bytes held = 0;
    bool is_end = true;
    for (std::size_t i = 0; i < count; ++i) {
      if ((there >> i & 1U) != 0)
        held += problem.nodes[i].bytes;
      else if (problem.nodes[i].is_kept)
        is_end = false;
    }
    if (is_end) return seconds;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t other = there ^ (std::size_t{1} << i);
      if ((there >> i & 1U) != 0) {
        reach(other, seconds);
        continue;
      }
      const Node& node = problem.nodes[i];
      const bool can_run =
          std::all_of(node.operands.begin(), node.operands.end(),
                      [&](NodeNumber operand) { return (there >> operand & 1U) != 0; });
      if (can_run && held + node.bytes + node.workspace <= limit)
        reach(other, seconds + node.seconds);
    }
  }
  return std::numeric_limits<double>::infinity();
}

/// The least memory of all orders in which each needed node runs once.
inline Bytes least_bytes_of_all_orders(const Problem& problem) {
  const std::size_t count = problem.nodes.size();
  const std::vector<bool> is_needed = needed_nodes(problem);
  const std::vector<std::vector<NodeNumber>> users = users_of(problem);
  std::vector<Bytes> least(std::size_t{1} << count, std::numeric_limits<Bytes>::max());
  least[0] = 0;
  std::size_t all = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (is_needed[i]) all |= std::size_t{1} << i;
  for (std::size_t done = 0; done < least.size(); ++done) {
    if (least[done] == std::numeric_limits<Bytes>::max()) continue;
    Bytes held = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if ((done >> i & 1U) == 0) continue;
      const bool is_live = problem.nodes[i].is_kept ||
                           std::any_of(users[i].begin(), users[i].end(), [&](NodeNumber user) {
                             return is_needed[user] && (done >> user & 1U) == 0;
                           });
      if (is_live) held += problem.nodes[i].bytes;
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_needed[i] || (done >> i & 1U) != 0) continue;
      const Node& node = problem.nodes[i];
      if (!std::all_of(node.operands.begin(), node.operands.end(),
                       [&](NodeNumber operand) { return (done >> operand & 1U) != 0; }))
        continue;
      Bytes& next = least[done | (std::size_t{1} << i)];
      next = std::min(next, std::max(least[done], held + node.bytes + node.workspace));
    }
  }
  return least[all];
}

}  // namespace lemma::memory_plan
