#pragma once
// Small random e-graphs, and their cheapest selection by trying all.

#include <functional>
#include <optional>
#include <random>

#include "egraph/exact/problem.h"

namespace lemma::exact {

/// Cycles, shared classes, several roots, classes that cannot be chosen; costs of one of five kinds.
inline Problem random_problem(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t limit) {
    return static_cast<std::uint32_t>(random() % limit);
  };
  Problem problem;
  problem.class_count = 2 + below(8);
  const std::uint32_t kind = below(5);
  const std::uint32_t density = 1 + below(4);
  const auto cost = [&]() -> Cost {
    switch (kind) {
      case 0: return 1;
      case 1: return below(3) == 0 ? below(5) : 0;
      case 2: return static_cast<Cost>(below(7)) - 3;
      case 3: return static_cast<Cost>(random() >> 4) * 1000003;  // more than 64 bits
      default: return below(20);
    }
  };
  for (std::uint32_t id = 0; id < problem.class_count; ++id) {
    for (std::uint32_t count = 1 + below(4); count > 0; --count) {
      Node node{id, cost(), {}};
      for (std::uint32_t children = below(density + 1); children > 0; --children)
        node.children.push_back(below(3) == 0
                                    ? below(problem.class_count)
                                    : std::min(problem.class_count - 1, id + 1 + below(3)));
      problem.nodes.push_back(std::move(node));
    }
  }
  for (std::uint32_t count = 1 + below(3); count > 0; --count)
    problem.roots.push_back(below(3) == 0 ? below(problem.class_count) : 0);
  return problem;
}

/// Too large to try all: 20 to 60 classes, in layers with some edges back up.
inline Problem larger_random_problem(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t limit) {
    return static_cast<std::uint32_t>(random() % limit);
  };
  Problem problem;
  problem.class_count = 20 + below(41);
  const std::uint32_t most_cost = 2 + below(30), leaf_odds = 2 + below(5);
  const bool negative = below(4) == 0;
  for (std::uint32_t id = 0; id < problem.class_count; ++id)
    for (std::uint32_t count = 1 + below(4); count > 0; --count) {
      Node node{id, static_cast<Cost>(below(most_cost)), {}};
      if (negative && below(4) == 0) node.cost = -node.cost;
      if (below(leaf_odds) != 0)
        for (std::uint32_t children = 1 + below(3); children > 0; --children)
          node.children.push_back(below(8) == 0
                                      ? below(problem.class_count)
                                      : std::min(problem.class_count - 1, id + 1 + below(12)));
      problem.nodes.push_back(std::move(node));
    }
  for (std::uint32_t root = 0; root < 4; ++root) problem.roots.push_back(root);
  return problem;
}

/// The cost of the cheapest selection, by trying all; nothing if there is none.
inline std::optional<Cost> brute_force(const Problem& problem) {
  std::vector<std::uint32_t> chosen(problem.class_count, none);
  std::optional<Cost> best;
  // Whether the class can be followed down to leaves.
  const std::function<bool(std::uint32_t, int)> grounded = [&](std::uint32_t id, int depth) {
    if (depth > static_cast<int>(problem.class_count)) return false;
    for (const std::uint32_t child : problem.nodes[chosen[id]].children)
      if (!grounded(child, depth + 1)) return false;
    return true;
  };
  const std::function<void(std::vector<std::uint32_t>, Cost)> decide =
      [&](std::vector<std::uint32_t> wanted, Cost cost) {
        while (!wanted.empty() && chosen[wanted.back()] != none) wanted.pop_back();
        if (wanted.empty()) {
          for (const std::uint32_t root : problem.roots)
            if (!grounded(root, 0)) return;
          if (!best || cost < *best) best = cost;
          return;
        }
        const std::uint32_t id = wanted.back();
        for (std::uint32_t i = 0; i < problem.nodes.size(); ++i) {
          if (problem.nodes[i].owner != id) continue;
          chosen[id] = i;
          auto more = wanted;
          const auto& children = problem.nodes[i].children;
          more.insert(more.end(), children.begin(), children.end());
          decide(std::move(more), cost + problem.nodes[i].cost);
        }
        chosen[id] = none;
      };
  decide(problem.roots, 0);
  return best;
}

}  // namespace lemma::exact
