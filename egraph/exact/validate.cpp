#include "egraph/exact/validate.h"

#include <fmt/format.h>

namespace lemma::exact {

// Peels off chosen classes that nobody needs (any more), users before what they use: what remains
// lies on a cycle. That is another way than the solvers' depth-first searches.
Result<void> validate(const Problem& problem, const Selection& selection) {
  if (selection.node_of.size() != problem.class_count)
    return internal_error("the selection is of another e-graph");
  const auto chosen = [&](std::uint32_t id) { return selection.node_of[id] != none; };
  std::vector<std::uint32_t> users(problem.class_count, 0);
  std::vector<char> is_root(problem.class_count, 0);
  Cost total = 0;
  std::size_t remaining = 0;
  for (std::uint32_t id = 0; id < problem.class_count; ++id) {
    if (!chosen(id)) continue;
    const std::uint32_t number = selection.node_of[id];
    if (number >= problem.nodes.size() || problem.nodes[number].owner != id)
      return internal_error(fmt::format("class {} has a node that is not its own", id));
    ++remaining;
    total += problem.nodes[number].cost;
    for (const std::uint32_t child : problem.nodes[number].children) {
      if (!chosen(child)) return internal_error(fmt::format("class {} has no node", child));
      ++users[child];
    }
  }
  for (const std::uint32_t root : problem.roots) {
    if (!chosen(root)) return internal_error(fmt::format("root {} has no node", root));
    is_root[root] = 1;
  }
  std::vector<std::uint32_t> unused;
  for (std::uint32_t id = 0; id < problem.class_count; ++id) {
    if (!chosen(id) || users[id] != 0) continue;
    if (is_root[id] == 0)
      return internal_error(fmt::format("class {} is chosen though nothing needs it", id));
    unused.push_back(id);
  }
  while (!unused.empty()) {
    const std::uint32_t id = unused.back();
    unused.pop_back();
    --remaining;
    for (const std::uint32_t child : problem.nodes[selection.node_of[id]].children)
      if (--users[child] == 0) unused.push_back(child);
  }
  if (remaining != 0)
    return internal_error(fmt::format("{} chosen classes need themselves", remaining));
  if (total != selection.cost) return internal_error("the cost is not the sum of chosen nodes");
  return {};
}

}  // namespace lemma::exact
