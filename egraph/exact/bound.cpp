#include "egraph/exact/bound.h"

#include <algorithm>

#include "egraph/exact/reducer.h"

namespace lemma::exact {

namespace {

Cost sum_of_negative_costs(const std::vector<std::vector<std::uint32_t>>& nodes_of,
                           const Problem& problem) {
  Cost bound = 0;
  for (const auto& nodes : nodes_of) {
    Cost least = 0;
    for (const std::uint32_t number : nodes) least = std::min(least, problem.nodes[number].cost);
    bound += least;
  }
  return bound;
}

/// How many classes could use each, roots being used from above as well.
std::vector<std::uint32_t> possible_users(const std::vector<std::vector<std::uint32_t>>& nodes_of,
                                          const Problem& problem) {
  std::vector<std::uint32_t> users(problem.class_count, 0), last(problem.class_count, none);
  for (std::uint32_t id = 0; id < problem.class_count; ++id)
    for (const std::uint32_t number : nodes_of[id])
      for (const std::uint32_t child : problem.nodes[number].children) {
        if (last[child] == id) continue;
        last[child] = id;
        ++users[child];
      }
  std::vector<char> is_root(problem.class_count, 0);
  for (const std::uint32_t root : problem.roots)
    if (is_root[root] == 0) {
      is_root[root] = 1;
      ++users[root];
    }
  return users;
}

}  // namespace

Cost quick_lower_bound(const Problem& problem) {
  const auto nodes_of = problem.nodes_by_class();
  if (problem.has_negative_costs()) return sum_of_negative_costs(nodes_of, problem);
  // Divisions round down, on a finer grid where there is room for it.
  Cost sum = 1;
  for (const Node& node : problem.nodes) sum += node.cost;
  const int grid_bits = sum < (static_cast<Cost>(1) << 80) ? 24 : 0;
  const auto users = possible_users(nodes_of, problem);
  std::vector<Cost> share(problem.class_count, 0);
  // Every sweep from below gives a bound; where there are no cycles the first is final.
  constexpr int most_sweeps = 8;
  const auto order = postorder(problem, nodes_of);
  bool changed = true;
  for (int sweep = 0; sweep < most_sweeps && changed; ++sweep) {
    changed = false;
    for (const std::uint32_t id : order) {
      std::optional<Cost> least;
      for (const std::uint32_t number : nodes_of[id]) {
        Cost total = problem.nodes[number].cost << grid_bits;
        // Repeated children are one user.
        const auto& children = problem.nodes[number].children;
        for (std::size_t i = 0; i < children.size(); ++i)
          if (std::find(children.begin(), children.begin() + static_cast<std::ptrdiff_t>(i),
                        children[i]) == children.begin() + static_cast<std::ptrdiff_t>(i))
            total += share[children[i]];
        if (!least || total < *least) least = total;
      }
      const Cost next = least ? *least / std::max<std::uint32_t>(1, users[id]) : 0;
      changed = changed || next > share[id];
      share[id] = std::max(share[id], next);
    }
  }
  Cost bound = 0;
  std::vector<char> counted(problem.class_count, 0);
  for (const std::uint32_t root : problem.roots) {
    if (counted[root] == 0) bound += share[root];
    counted[root] = 1;
  }
  // Costs are integers.
  const Cost unit = static_cast<Cost>(1) << grid_bits;
  return (bound + unit - 1) / unit;
}

}  // namespace lemma::exact
