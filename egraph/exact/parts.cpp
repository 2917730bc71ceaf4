#include "egraph/exact/parts.h"

#include <numeric>

namespace lemma::exact {

std::vector<Part> independent_parts(const Problem& problem) {
  std::vector<std::uint32_t> leader(problem.class_count);
  std::iota(leader.begin(), leader.end(), 0);
  const auto find = [&](std::uint32_t id) {
    while (leader[id] != id) id = leader[id] = leader[leader[id]];
    return id;
  };
  for (const Node& node : problem.nodes)
    for (const std::uint32_t child : node.children) {
      const std::uint32_t a = find(node.owner), b = find(child);
      leader[std::max(a, b)] = std::min(a, b);
    }
  std::vector<Part> parts;
  std::vector<std::uint32_t> part_of(problem.class_count, none), number_in(problem.class_count);
  for (std::uint32_t id = 0; id < problem.class_count; ++id) {
    const std::uint32_t lead = find(id);
    if (lead == id) {
      part_of[id] = static_cast<std::uint32_t>(parts.size());
      parts.emplace_back();
    }
    Part& part = parts[part_of[lead]];
    part_of[id] = part_of[lead];
    number_in[id] = part.problem.class_count++;
    part.classes.push_back(id);
  }
  for (std::uint32_t i = 0; i < problem.nodes.size(); ++i) {
    const Node& node = problem.nodes[i];
    Part& part = parts[part_of[node.owner]];
    Node copy{number_in[node.owner], node.cost, {}};
    for (const std::uint32_t child : node.children) copy.children.push_back(number_in[child]);
    part.problem.nodes.push_back(std::move(copy));
    part.nodes.push_back(i);
  }
  for (const std::uint32_t root : problem.roots)
    parts[part_of[root]].problem.roots.push_back(number_in[root]);
  return parts;
}

Selection restrict_to(const Part& part, const Selection& whole) {
  std::vector<std::uint32_t> choice(part.problem.class_count, none);
  for (std::uint32_t i = 0; i < part.nodes.size(); ++i) {
    const std::uint32_t owner = part.problem.nodes[i].owner;
    if (whole.node_of[part.classes[owner]] == part.nodes[i]) choice[owner] = i;
  }
  return finished_selection(part.problem, choice).value_or(Selection{});
}

void insert(const Part& part, const Selection& selection, Selection& whole) {
  for (std::uint32_t id = 0; id < part.classes.size(); ++id) {
    const std::uint32_t number = selection.node_of[id];
    whole.node_of[part.classes[id]] = number == none ? none : part.nodes[number];
  }
  whole.cost += selection.cost;
}

}  // namespace lemma::exact
