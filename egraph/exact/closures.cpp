#include "egraph/exact/closures.h"

#include <algorithm>

namespace lemma::exact {

std::optional<BitMatrix> needed_classes(const Problem& problem,
                                        const std::vector<std::vector<std::uint32_t>>& nodes_of,
                                        const std::vector<std::uint32_t>& order,
                                        const Limit& limit) {
  BitMatrix needed(problem.class_count, problem.class_count, true);
  std::vector<BitMatrix::Word> all(needed.words()), some(needed.words());
  bool changed = true;
  while (changed) {
    changed = false;
    for (const std::uint32_t id : order) {
      if (limit.reached()) return std::nullopt;
      std::fill(all.begin(), all.end(), ~BitMatrix::Word{0});
      for (const std::uint32_t number : nodes_of[id]) {
        std::fill(some.begin(), some.end(), 0);
        for (const std::uint32_t child : problem.nodes[number].children)
          add_bits(some, needed[child]);
        for (std::size_t i = 0; i < all.size(); ++i) all[i] &= some[i];
      }
      set_bit(all, id);
      const auto row = needed[id];
      if (std::equal(all.begin(), all.end(), row.begin())) continue;
      std::copy(all.begin(), all.end(), row.begin());
      changed = true;
    }
  }
  return needed;
}

std::vector<std::uint32_t> immediate_dominators(
    const Problem& problem, const std::vector<std::vector<std::uint32_t>>& nodes_of,
    const std::vector<std::uint32_t>& order) {
  // Positions in the postorder; the virtual class above all roots comes last.
  const auto top = static_cast<std::uint32_t>(order.size());
  std::vector<std::uint32_t> position(problem.class_count, none);
  for (std::uint32_t i = 0; i < top; ++i) position[order[i]] = i;
  std::vector<std::vector<std::uint32_t>> users(top);
  for (std::uint32_t i = 0; i < top; ++i)
    for (const std::uint32_t number : nodes_of[order[i]])
      for (const std::uint32_t child : problem.nodes[number].children)
        users[position[child]].push_back(i);
  for (const std::uint32_t root : problem.roots) users[position[root]].push_back(top);
  std::vector<std::uint32_t> dominator(top + 1, none);
  dominator[top] = top;
  bool changed = true;
  while (changed) {
    changed = false;
    for (std::uint32_t i = top; i-- > 0;) {
      std::uint32_t meet = none;
      for (std::uint32_t user : users[i]) {
        if (dominator[user] == none) continue;
        if (meet == none) {
          meet = user;
          continue;
        }
        while (user != meet) {
          while (user < meet) user = dominator[user];
          while (meet < user) meet = dominator[meet];
        }
      }
      if (dominator[i] == meet) continue;
      dominator[i] = meet;
      changed = true;
    }
  }
  std::vector<std::uint32_t> result(problem.class_count, none);
  for (std::uint32_t i = 0; i < top; ++i)
    if (dominator[i] != top && dominator[i] != none) result[order[i]] = order[dominator[i]];
  return result;
}

// Tarjan 1972, without recursion.
std::vector<std::uint32_t> components(const Problem& problem,
                                      const std::vector<std::vector<std::uint32_t>>& nodes_of) {
  struct Frame {
    std::uint32_t id, node, child;
  };
  std::vector<std::uint32_t> component(problem.class_count, none);
  std::vector<std::uint32_t> index(problem.class_count, none), low(problem.class_count, 0);
  std::vector<std::uint32_t> open;
  std::vector<Frame> path;
  std::uint32_t next_index = 0, next_component = 0;
  const auto enter = [&](std::uint32_t id) {
    index[id] = low[id] = next_index++;
    open.push_back(id);
    path.push_back({id, 0, 0});
  };
  const auto leave = [&](std::uint32_t id) {
    if (low[id] == index[id]) {
      std::uint32_t member = none;
      do {
        member = open.back();
        open.pop_back();
        component[member] = next_component;
      } while (member != id);
      ++next_component;
    }
    path.pop_back();
    if (!path.empty()) low[path.back().id] = std::min(low[path.back().id], low[id]);
  };
  for (std::uint32_t start = 0; start < problem.class_count; ++start) {
    if (index[start] != none) continue;
    enter(start);
    while (!path.empty()) {
      Frame& frame = path.back();
      if (frame.node == nodes_of[frame.id].size()) {
        leave(frame.id);
        continue;
      }
      const auto& children = problem.nodes[nodes_of[frame.id][frame.node]].children;
      if (frame.child == children.size()) {
        ++frame.node;
        frame.child = 0;
        continue;
      }
      const std::uint32_t child = children[frame.child++];
      if (index[child] == none)
        enter(child);
      else if (component[child] == none)
        low[frame.id] = std::min(low[frame.id], index[child]);
    }
  }
  return component;
}

}  // namespace lemma::exact
