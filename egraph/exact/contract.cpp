// Rules of the reducer about one class and its users.

#include <algorithm>

#include "egraph/exact/reducer.h"

namespace lemma::exact {

namespace {

using Children = std::vector<std::uint32_t>;

bool includes(const Children& all, const Children& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

}  // namespace

// Each step leaves a complete problem, so it may end after any of them.
void Reducer::contract_all(const Limit& limit) {
  // Operands first, so that a chain is contracted in one go.
  Problem graph;
  graph.class_count = static_cast<std::uint32_t>(class_alive_.size());
  for (std::uint32_t id = 0; id < graph.class_count; ++id) {
    live_nodes(id);
    if (is_root_[id] != 0) graph.roots.push_back(id);
  }
  std::swap(graph.nodes, nodes_);
  std::vector<std::uint32_t> order = postorder(graph, nodes_of_);
  std::swap(graph.nodes, nodes_);
  for (const std::uint32_t id : queue_) queued_[id] = 0;
  queue_.clear();
  for (const std::uint32_t id : order) {
    if (limit.reached()) return;
    subsume(id);
  }
  for (const std::uint32_t id : order) {
    if (limit.reached()) return;
    contract(id);
  }
  // A cycle that the roots no longer reach would hand its costs round and round: each class gets a
  // number of turns, and the next round begins with what is still reached.
  constexpr std::uint8_t most_turns = 20;
  std::vector<std::uint8_t> turns(class_alive_.size(), 0);
  while (!queue_.empty() && !infeasible_ && !limit.reached()) {
    const std::uint32_t id = queue_.back();
    queue_.pop_back();
    queued_[id] = 0;
    if (turns[id] == most_turns) continue;
    ++turns[id];
    contract(id);
  }
}

bool Reducer::contract(std::uint32_t id) {
  if (class_alive_[id] == 0) return true;
  for (const std::uint32_t number : std::vector(live_nodes(id))) {
    const Children& children = nodes_[number].children;
    if (std::binary_search(children.begin(), children.end(), id)) kill_node(number);
  }
  if (live_nodes(id).empty()) {
    if (is_root_[id] != 0) infeasible_ = true;
    for (const std::uint32_t user : std::vector(live_users(id))) kill_node(user);
    kill_class(id);
    return true;
  }
  if (is_root_[id] == 0 && live_users(id).empty()) {
    kill_class(id);
    return true;
  }
  if (choose_free_leaf(id)) return true;
  pull_up(id);
  return choose_free_leaf(id) || choose_only_node(id) || inline_into_user(id);
}

/// A leaf that costs nothing is never worse than the other nodes of its class.
bool Reducer::choose_free_leaf(std::uint32_t id) {
  const auto& nodes = live_nodes(id);
  const auto leaf = std::find_if(nodes.begin(), nodes.end(), [&](std::uint32_t number) {
    return nodes_[number].cost == 0 && nodes_[number].children.empty();
  });
  if (leaf == nodes.end() || (!monotone_ && nodes.size() > 1)) return false;
  const std::uint32_t origin = origin_of_[*leaf];
  for (const std::uint32_t user : std::vector(live_users(id))) {
    remove_child(user, id);
    origin_of_[user] = both(origin_of_[user], origin);
  }
  if (is_root_[id] != 0) fixed_origins_.push_back(origin);
  is_root_[id] = 0;
  kill_class(id);
  return true;
}

/// What all nodes of the class cost or need is moved to the users, if at most one of these is ever
/// chosen (then it is paid at most once), or is accounted for at once if the class is a root.
void Reducer::pull_up(std::uint32_t id) {
  const auto nodes = live_nodes(id);
  Cost least = nodes_[nodes[0]].cost;
  Children common = nodes_[nodes[0]].children;
  for (const std::uint32_t number : nodes) {
    least = std::min(least, nodes_[number].cost);
    Children shared;
    const Children& children = nodes_[number].children;
    std::set_intersection(common.begin(), common.end(), children.begin(), children.end(),
                          std::back_inserter(shared));
    common = std::move(shared);
  }
  if (least == 0 && common.empty()) return;
  if (is_root_[id] != 0) {
    fixed_cost_ += least;
    // The edges stay: they may be part of cycles.
    for (const std::uint32_t child : common) make_root(child);
    common.clear();
  } else {
    const auto users = live_users(id);
    for (const std::uint32_t user : users)
      if (nodes_[user].owner != nodes_[users[0]].owner) return;
    // A cycle through this class runs through the class of the users, so no cycle is lost.
    for (const std::uint32_t user : users) {
      nodes_[user].cost += least;
      if (!common.empty()) add_children(user, common);
      touch(nodes_[user].owner);
    }
  }
  for (const std::uint32_t number : nodes) {
    nodes_[number].cost -= least;
    for (const std::uint32_t child : common) remove_child(number, child);
  }
  if (least != 0) changed_ = true;
}

/// A class with one node that costs nothing (any more) is replaced by what that node needs.
bool Reducer::choose_only_node(std::uint32_t id) {
  if (live_nodes(id).size() != 1) return false;
  const std::uint32_t number = live_nodes(id)[0];
  if (nodes_[number].cost != 0) return false;
  const Children children = nodes_[number].children;
  const auto users = live_users(id);
  if (children.size() * users.size() > children.size() + users.size() + 4) return false;
  for (const std::uint32_t user : users) {
    remove_child(user, id);
    add_children(user, children);
    origin_of_[user] = both(origin_of_[user], origin_of_[number]);
  }
  if (is_root_[id] != 0) {
    fixed_origins_.push_back(origin_of_[number]);
    for (const std::uint32_t child : children) make_root(child);
  }
  is_root_[id] = 0;
  kill_class(id);
  return true;
}

/// A class with one user is merged into it: the user's class gets a node for each of its nodes.
bool Reducer::inline_into_user(std::uint32_t id) {
  if (is_root_[id] != 0 || live_users(id).size() != 1) return false;
  const std::uint32_t user = live_users(id)[0];
  const auto nodes = live_nodes(id);
  if ((nodes.size() - 1) * (nodes_[user].children.size() - 1) > 6) return false;
  const std::uint32_t owner = nodes_[user].owner;
  Children others = nodes_[user].children;
  std::erase(others, id);
  for (const std::uint32_t number : nodes) {
    Node merged{owner, nodes_[user].cost + nodes_[number].cost, others};
    const auto added = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back(std::move(merged));
    node_alive_.push_back(1);
    origin_of_.push_back(both(origin_of_[user], origin_of_[number]));
    nodes_of_[owner].push_back(added);
    for (const std::uint32_t child : others) users_of_[child].push_back(added);
    add_children(added, nodes_[number].children);
  }
  kill_node(user);
  kill_class(id);
  subsume(owner);
  return true;
}

/// Removes nodes that need all that another one needs and cost no less.
void Reducer::subsume(std::uint32_t id) {
  constexpr std::size_t most_compared = 2000;
  auto nodes = live_nodes(id);
  if (nodes.size() < 2 || nodes.size() > most_compared) return;
  std::stable_sort(nodes.begin(), nodes.end(), [&](std::uint32_t a, std::uint32_t b) {
    return nodes_[a].children.size() < nodes_[b].children.size();
  });
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& kept = nodes_[nodes[i]];
    if (node_alive_[nodes[i]] == 0) continue;
    for (std::size_t j = i + 1; j < nodes.size(); ++j) {
      const Node& other = nodes_[nodes[j]];
      if (node_alive_[nodes[j]] == 0) continue;
      if (kept.cost <= other.cost && includes(other.children, kept.children) &&
          (monotone_ || kept.children.size() == other.children.size()))
        kill_node(nodes[j]);
      else if (other.cost < kept.cost && other.children.size() == kept.children.size() &&
               other.children == kept.children) {
        kill_node(nodes[i]);
        break;
      }
    }
  }
}

}  // namespace lemma::exact
