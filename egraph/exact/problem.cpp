#include "egraph/exact/problem.h"

namespace lemma::exact {

std::vector<std::vector<std::uint32_t>> Problem::nodes_by_class() const {
  std::vector<std::vector<std::uint32_t>> result(class_count);
  for (std::uint32_t i = 0; i < nodes.size(); ++i) result[nodes[i].owner].push_back(i);
  return result;
}

bool Problem::has_negative_costs() const {
  for (const Node& node : nodes)
    if (node.cost < 0) return true;
  return false;
}

std::optional<Selection> finished_selection(const Problem& problem,
                                            const std::vector<std::uint32_t>& choice) {
  Selection result;
  result.node_of.assign(problem.class_count, none);
  struct Frame {
    std::uint32_t id;
    std::uint32_t next_child;
  };
  std::vector<char> open(problem.class_count, 0);
  std::vector<Frame> path;
  for (const std::uint32_t root : problem.roots) {
    if (result.node_of[root] == none) path.push_back({root, 0});
    while (!path.empty()) {
      Frame& frame = path.back();
      const std::uint32_t id = frame.id;
      if (frame.next_child == 0 && open[id] == 0) {
        if (choice[id] == none) return std::nullopt;
        result.node_of[id] = choice[id];
        result.cost += problem.nodes[choice[id]].cost;
        open[id] = 1;
      }
      const std::vector<std::uint32_t>& children = problem.nodes[choice[id]].children;
      if (frame.next_child == children.size()) {
        open[id] = 0;
        path.pop_back();
        continue;
      }
      const std::uint32_t child = children[frame.next_child++];
      if (open[child] != 0) return std::nullopt;
      if (result.node_of[child] == none) path.push_back({child, 0});
    }
  }
  return result;
}

}  // namespace lemma::exact
