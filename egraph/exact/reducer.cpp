#include "egraph/exact/reducer.h"

#include <algorithm>

namespace lemma::exact {

std::vector<std::uint32_t> postorder(const Problem& problem,
                                     const std::vector<std::vector<std::uint32_t>>& nodes_of) {
  struct Frame {
    std::uint32_t id, node, child;
  };
  std::vector<std::uint32_t> order;
  std::vector<char> seen(problem.class_count, 0);
  std::vector<Frame> path;
  for (const std::uint32_t root : problem.roots) {
    if (seen[root] == 0) path.push_back({root, 0, 0});
    seen[root] = 1;
    while (!path.empty()) {
      Frame& frame = path.back();
      if (frame.node == nodes_of[frame.id].size()) {
        order.push_back(frame.id);
        path.pop_back();
        continue;
      }
      const auto& children = problem.nodes[nodes_of[frame.id][frame.node]].children;
      if (frame.child == children.size()) {
        ++frame.node;
        frame.child = 0;
        continue;
      }
      const std::uint32_t child = children[frame.child++];
      if (seen[child] != 0) continue;
      seen[child] = 1;
      path.push_back({child, 0, 0});
    }
  }
  return order;
}

Reducer::Reducer(const Problem& problem)
    : original_(&problem),
      monotone_(!problem.has_negative_costs()),
      nodes_(problem.nodes),
      node_alive_(problem.nodes.size(), 1),
      class_alive_(problem.class_count, 1),
      is_root_(problem.class_count, 0),
      queued_(problem.class_count, 0),
      nodes_of_(problem.nodes_by_class()),
      users_of_(problem.class_count) {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    auto& children = nodes_[i].children;
    std::sort(children.begin(), children.end());
    children.erase(std::unique(children.begin(), children.end()), children.end());
    for (const std::uint32_t child : children) users_of_[child].push_back(i);
    origin_of_.push_back(i);
    origins_.push_back({i, none});
  }
  for (const std::uint32_t root : problem.roots) is_root_[root] = 1;
}

void Reducer::run(std::optional<Cost> upper_bound, const Limit& limit) {
  constexpr int most_rounds = 40;
  for (int round = 0; round < most_rounds && !infeasible_; ++round) {
    changed_ = false;
    drop_unusable();
    drop_unreachable();
    if (infeasible_) return;
    contract_all(limit);
    if (infeasible_) return;
    drop_unreachable();
    if (limit.reached()) return;
    if (!changed_ || round % 2 == 1) {
      prune(upper_bound, limit);
      if (!infeasible_ && !limit.reached()) separate_forced();
    }
    if (!changed_) return;
  }
}

// ---- Bookkeeping ------------------------------------------------------------------------------

void Reducer::touch(std::uint32_t id) {
  if (queued_[id] != 0 || class_alive_[id] == 0) return;
  queued_[id] = 1;
  queue_.push_back(id);
}

void Reducer::kill_node(std::uint32_t number) {
  if (node_alive_[number] == 0) return;
  node_alive_[number] = 0;
  changed_ = true;
  touch(nodes_[number].owner);
  for (const std::uint32_t child : nodes_[number].children) touch(child);
}

void Reducer::kill_class(std::uint32_t id) {
  for (const std::uint32_t number : nodes_of_[id]) kill_node(number);
  class_alive_[id] = 0;
  changed_ = true;
}

const std::vector<std::uint32_t>& Reducer::live_nodes(std::uint32_t id) {
  std::erase_if(nodes_of_[id], [&](std::uint32_t number) { return node_alive_[number] == 0; });
  return nodes_of_[id];
}

const std::vector<std::uint32_t>& Reducer::live_users(std::uint32_t id) {
  auto& users = users_of_[id];
  std::sort(users.begin(), users.end());
  users.erase(std::unique(users.begin(), users.end()), users.end());
  std::erase_if(users, [&](std::uint32_t number) {
    const auto& children = nodes_[number].children;
    return node_alive_[number] == 0 || !std::binary_search(children.begin(), children.end(), id);
  });
  return users;
}

void Reducer::make_root(std::uint32_t id) {
  if (is_root_[id] != 0) return;
  is_root_[id] = 1;
  changed_ = true;
  touch(id);
}

void Reducer::add_children(std::uint32_t number, const std::vector<std::uint32_t>& more) {
  std::vector<std::uint32_t> merged;
  const auto& children = nodes_[number].children;
  std::set_union(children.begin(), children.end(), more.begin(), more.end(),
                 std::back_inserter(merged));
  for (const std::uint32_t child : more) {
    users_of_[child].push_back(number);
    touch(child);
  }
  nodes_[number].children = std::move(merged);
  touch(nodes_[number].owner);
  changed_ = true;
}

void Reducer::remove_child(std::uint32_t number, std::uint32_t child) {
  std::erase(nodes_[number].children, child);
  touch(nodes_[number].owner);
  touch(child);
  changed_ = true;
}

std::uint32_t Reducer::both(std::uint32_t a, std::uint32_t b) {
  origins_.push_back({a, b});
  return static_cast<std::uint32_t>(origins_.size() - 1);
}

// ---- Rules about the whole --------------------------------------------------------------------

void Reducer::drop_unusable() {
  // From the leaves up: a node can be used once all its children can.
  std::vector<std::uint32_t> missing(nodes_.size(), 0);
  std::vector<char> usable(class_alive_.size(), 0);
  std::vector<std::uint32_t> ready;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    missing[i] = static_cast<std::uint32_t>(nodes_[i].children.size());
    if (node_alive_[i] != 0 && missing[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    const std::uint32_t id = nodes_[ready.back()].owner;
    ready.pop_back();
    if (usable[id] != 0) continue;
    usable[id] = 1;
    for (const std::uint32_t user : live_users(id))
      if (--missing[user] == 0) ready.push_back(user);
  }
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    if (missing[i] != 0) kill_node(i);
  for (std::uint32_t id = 0; id < is_root_.size(); ++id)
    if (is_root_[id] != 0 && usable[id] == 0) infeasible_ = true;
}

void Reducer::drop_unreachable() {
  std::vector<char> reached(is_root_);
  std::vector<std::uint32_t> stack;
  for (std::uint32_t id = 0; id < reached.size(); ++id)
    if (reached[id] != 0) stack.push_back(id);
  while (!stack.empty()) {
    const std::uint32_t id = stack.back();
    stack.pop_back();
    for (const std::uint32_t number : live_nodes(id))
      for (const std::uint32_t child : nodes_[number].children)
        if (reached[child] == 0) {
          reached[child] = 1;
          stack.push_back(child);
        }
  }
  for (std::uint32_t id = 0; id < reached.size(); ++id)
    if (reached[id] == 0 && class_alive_[id] != 0) kill_class(id);
}

// ---- Results ----------------------------------------------------------------------------------

Problem Reducer::problem() const {
  Problem result;
  std::vector<std::uint32_t> number_of(class_alive_.size(), none);
  for (std::uint32_t id = 0; id < class_alive_.size(); ++id)
    if (class_alive_[id] != 0) number_of[id] = result.class_count++;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (node_alive_[i] == 0) continue;
    Node node{number_of[nodes_[i].owner], nodes_[i].cost, {}};
    for (const std::uint32_t child : nodes_[i].children) node.children.push_back(number_of[child]);
    result.nodes.push_back(std::move(node));
  }
  for (std::uint32_t id = 0; id < class_alive_.size(); ++id)
    if (is_root_[id] != 0) result.roots.push_back(number_of[id]);
  return result;
}

std::vector<std::uint32_t> Reducer::expand(const Selection& selection) const {
  std::vector<std::uint32_t> stack = fixed_origins_, remaining;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    if (node_alive_[i] != 0) remaining.push_back(i);
  for (const std::uint32_t chosen : selection.node_of)
    if (chosen != none) stack.push_back(origin_of_[remaining[chosen]]);
  std::vector<char> seen(origins_.size(), 0);
  std::vector<std::uint32_t> choice(original_->class_count, none);
  while (!stack.empty()) {
    const std::uint32_t at = stack.back();
    stack.pop_back();
    if (seen[at] != 0) continue;
    seen[at] = 1;
    const Origin& origin = origins_[at];
    if (origin.second == none) {
      choice[original_->nodes[origin.first].owner] = origin.first;
    } else {
      stack.push_back(origin.first);
      stack.push_back(origin.second);
    }
  }
  return choice;
}

}  // namespace lemma::exact
