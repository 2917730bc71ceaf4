#pragma once
// Random problems, and what is found for them by trying everything.

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "plans/choice/problem.h"

namespace lemma::choice {

struct RandomOptions {
  std::size_t nodes = 8;
  std::size_t most_strategies = 4;
  Bytes most_bytes = 30;
  double edges_of_a_node = 1.5;
  bool has_alike = false;
  bool has_moments = false;  // else all memory counts at once
  double limit_part = -1;    // between what is needed at least and at most; below 0: no limit
  double infinite_part = 0;  // of the pairs of strategies
  bool is_local = false;     // edges between nodes that are near each other, as in programs
};

inline Bytes extreme_peak(const Problem& problem, bool least) {
  Choice choice;
  for (const Node& node : problem.nodes) {
    const auto by_bytes = [](const Strategy& a, const Strategy& b) { return a.bytes < b.bytes; };
    const auto at =
        least ? std::min_element(node.strategies.begin(), node.strategies.end(), by_bytes)
              : std::max_element(node.strategies.begin(), node.strategies.end(), by_bytes);
    choice.push_back(static_cast<StrategyNumber>(at - node.strategies.begin()));
  }
  return peak_of(problem, choice);
}

/// Strategies that take less memory take more time, as those of the contest on intra-operator parallelism (IOPDDL, 2025).
inline Problem random_problem(std::mt19937& random, const RandomOptions& options) {
  const auto part = [&] { return static_cast<double>(random() % 1000) / 1000; };
  Problem problem;
  for (NodeNumber number = 0; number < options.nodes; ++number) {
    Node node;
    const std::size_t count = 1 + random() % options.most_strategies;
    for (std::size_t at = 0; at < count; ++at)
      node.strategies.push_back(
          {static_cast<double>(random() % 20), 1 + random() % options.most_bytes});
    if (options.has_moments) {
      node.begin = number;
      node.end = number + 1 + static_cast<Moment>(random() % 5);
    }
    problem.nodes.push_back(std::move(node));
  }
  for (NodeNumber to = 1; to < options.nodes; ++to)
    for (double left = options.edges_of_a_node; left > part(); left -= 1) {
      const NodeNumber near = std::min<NodeNumber>(to, options.is_local ? 4 : to);
      const NodeNumber from = to - 1 - static_cast<NodeNumber>(random() % near);
      Edge edge{from, to, {}};
      const std::size_t size =
          problem.nodes[from].strategies.size() * problem.nodes[to].strategies.size();
      for (std::size_t at = 0; at < size; ++at)
        edge.seconds.push_back(part() < options.infinite_part
                                   ? std::numeric_limits<double>::infinity()
                                   : static_cast<double>(random() % 4 == 0 ? 0 : random() % 15));
      problem.edges.push_back(std::move(edge));
    }
  if (options.has_alike)
    for (NodeNumber number = 0; number < options.nodes; number += 2)
      for (NodeNumber other = number + 1; other < options.nodes; ++other)
        if (random() % 4 == 0 &&
            problem.nodes[other].strategies.size() == problem.nodes[number].strategies.size())
          problem.alike.push_back({number, other});
  if (options.limit_part >= 0) {
    const Bytes least = extreme_peak(problem, true), most = extreme_peak(problem, false);
    problem.limit =
        least + static_cast<Bytes>(options.limit_part * static_cast<double>(most - least));
  }
  return problem;
}

/// The least time of all choices that are allowed; infinity: none is.
inline double least_of_all(const Problem& problem) {
  Choice choice(problem.nodes.size(), 0);
  double least = std::numeric_limits<double>::infinity();
  while (true) {
    const double seconds = seconds_of(problem, choice);
    if (seconds < least && is_allowed(problem, choice)) least = seconds;
    std::size_t at = 0;
    while (at < choice.size() && ++choice[at] == problem.nodes[at].strategies.size())
      choice[at++] = 0;
    if (at == choice.size()) return least;
  }
}

}  // namespace lemma::choice
