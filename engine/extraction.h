#pragma once
// Choosing one e-node for each class that is needed, so that the chosen nodes form a graph without
// cycles and cost little, whatever the language. Every chosen node counts once, however often it is
// used (DAG cost).
//
// `Cost` is a function double(const Graph&, ENodeId): the cost of computing a node once its operands
// are there, at least 0; infinite for nodes that must not be chosen.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/result.h"
#include "engine/ids.h"

namespace lemma::engine {

/// A node for each class in use, and what they cost together.
struct Selection {
  /// The chosen node by canonical class; none for classes that are not needed.
  std::vector<ENodeId> node_of;
  double cost = 0;  // each node counted once; infinite if there is a cycle

  ENodeId operator[](ClassId id) const { return node_of[id.v]; }  // `id` must be canonical
};

/// The classes in use, operands before users; ties by node number. Nothing if there is a cycle or a
/// class without a node.
template <typename Graph>
std::optional<std::vector<ClassId>> topological_order(const Graph& egraph,
                                                      std::span<const ClassId> roots,
                                                      const std::vector<ENodeId>& node_of) {
  // Number of operands that are still to come, and users, of each class in use.
  std::vector<std::uint32_t> waiting(egraph.id_count(), 0);
  std::vector<std::vector<ClassId>> users(egraph.id_count());
  std::vector<char> seen(egraph.id_count(), 0);
  std::vector<ClassId> stack;
  std::size_t in_use = 0;
  const auto visit = [&](ClassId id) {
    if (seen[id.v] != 0) return;
    seen[id.v] = 1;
    ++in_use;
    stack.push_back(id);
  };
  for (const ClassId root : roots) visit(egraph.find(root));
  using Entry = std::pair<std::uint32_t, std::uint32_t>;  // node, class
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  while (!stack.empty()) {
    const ClassId id = stack.back();
    stack.pop_back();
    const ENodeId node = node_of[id.v];
    if (node.is_none()) return std::nullopt;
    for (const ClassId child : egraph.children(node)) {
      if (child.is_none()) continue;
      ++waiting[id.v];
      users[child.v].push_back(id);
      visit(child);
    }
    if (waiting[id.v] == 0) ready.emplace(node.v, id.v);
  }
  std::vector<ClassId> order;
  while (!ready.empty()) {
    const ClassId id{ready.top().second};
    ready.pop();
    order.push_back(id);
    for (const ClassId user : users[id.v])
      if (--waiting[user.v] == 0) ready.emplace(node_of[user.v].v, user.v);
  }
  if (order.size() != in_use) return std::nullopt;
  return order;
}

/// Drops what no root needs and adds up the cost. Requires a selection without cycles.
template <typename Graph, typename Cost>
Selection finished(const Graph& egraph, std::span<const ClassId> roots, const Cost& cost,
                   const std::vector<ENodeId>& node_of) {
  Selection result;
  result.node_of.assign(egraph.id_count(), ENodeId::none());
  const auto order = engine::topological_order(egraph, roots, node_of);
  if (!order) {
    result.cost = std::numeric_limits<double>::infinity();
    return result;
  }
  for (const ClassId id : *order) {
    result.node_of[id.v] = node_of[id.v];
    result.cost += cost(egraph, node_of[id.v]);
  }
  return result;
}

/// For each class the node that costs least as a tree over classes that are not `free` (by class;
/// may be empty); none for free classes and those that cannot be computed. Without cycles (Knuth
/// 1977, the generalization of Dijkstra's algorithm).
template <typename Graph>
std::vector<ENodeId> cheapest_trees(const Graph& egraph, const std::vector<double>& node_cost,
                                    const std::vector<char>& free) {
  constexpr double largest = 1e300;  // sums of shared operands grow exponentially
  const std::size_t count = egraph.id_count();
  std::vector<ENodeId> chosen(count, ENodeId::none());
  std::vector<double> class_cost(count, 0), sum(count, 0);
  std::vector<std::uint32_t> missing(count, 0);
  std::vector<char> done(count, 0);
  struct Entry {
    double cost;
    ENodeId node;
    bool operator>(const Entry& other) const {
      return cost != other.cost ? cost > other.cost : node > other.node;
    }
  };
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::vector<ClassId> settled;
  for (std::uint32_t i = 0; i < count; ++i)
    if (!free.empty() && free[i] != 0) {
      done[i] = 1;
      settled.push_back({i});
    }
  for (std::uint32_t i = 0; i < count; ++i) {
    if (egraph.node({i}).duplicate || !std::isfinite(node_cost[i])) continue;
    sum[i] = node_cost[i];
    for (const ClassId child : egraph.children({i})) missing[i] += child.is_none() ? 0 : 1;
    if (missing[i] == 0) queue.push({sum[i], {i}});
  }
  const auto settle = [&](ClassId id) {
    for (const ENodeId parent : egraph.parents(id)) {
      if (egraph.node(parent).duplicate || !std::isfinite(node_cost[parent.v])) continue;
      for (const ClassId child : egraph.children(parent)) {
        if (child != id) continue;
        sum[parent.v] = std::min(largest, sum[parent.v] + class_cost[id.v]);
        if (--missing[parent.v] == 0) queue.push({sum[parent.v], parent});
      }
    }
  };
  for (const ClassId id : settled) settle(id);
  while (!queue.empty()) {
    const Entry entry = queue.top();
    queue.pop();
    const ClassId id = egraph.find(entry.node.founded());
    if (done[id.v] != 0) continue;
    done[id.v] = 1;
    chosen[id.v] = entry.node;
    class_cost[id.v] = entry.cost;
    settle(id);
  }
  return chosen;
}

/// By node; infinite for duplicates.
template <typename Graph, typename Cost>
std::vector<double> costs_of_nodes(const Graph& egraph, const Cost& cost) {
  std::vector<double> result(egraph.id_count(), std::numeric_limits<double>::infinity());
  for (std::uint32_t i = 0; i < result.size(); ++i)
    if (!egraph.node({i}).duplicate) result[i] = cost(egraph, {i});
  return result;
}

/// Classes get a node in the order of their cost as trees. An error if a root cannot be computed at
/// finite cost.
template <typename Graph, typename Cost>
Result<Selection> extract_greedy(const Graph& egraph, std::span<const ClassId> roots,
                                 const Cost& cost) {
  const auto chosen = engine::cheapest_trees(egraph, engine::costs_of_nodes(egraph, cost), {});
  for (const ClassId root : roots)
    if (chosen[egraph.find(root).v].is_none())
      return bad_input("class " + std::to_string(root.v) + " cannot be computed at finite cost");
  return engine::finished(egraph, roots, cost, chosen);
}

/// Whether the selection computes all roots: every class that is needed has a node of its own, in
/// no cycle, and the cost is the one given. Written independently of how selections are found.
template <typename Graph, typename Cost>
Result<void> validate(const Graph& egraph, std::span<const ClassId> roots, const Cost& cost,
                      const Selection& selection) {
  if (selection.node_of.size() != egraph.id_count())
    return internal_error("the selection is of another e-graph");
  enum class Mark : char { unseen, open, closed };
  std::vector<Mark> marks(egraph.id_count(), Mark::unseen);
  struct Frame {
    ClassId id;
    std::size_t next_child;
  };
  double total = 0;
  std::vector<Frame> path;
  for (const ClassId named : roots) {
    const ClassId root = egraph.find(named);
    if (marks[root.v] == Mark::unseen) path.push_back({root, 0});
    while (!path.empty()) {
      Frame& frame = path.back();
      const ENodeId node = selection.node_of[frame.id.v];
      if (marks[frame.id.v] == Mark::unseen) {
        if (node.is_none())
          return internal_error("class " + std::to_string(frame.id.v) + " has no node");
        if (egraph.find(node.founded()) != frame.id)
          return internal_error("node " + std::to_string(node.v) + " is not of class " +
                                std::to_string(frame.id.v));
        marks[frame.id.v] = Mark::open;
        total += cost(egraph, node);
      }
      const auto children = egraph.children(node);
      if (frame.next_child == children.size()) {
        marks[frame.id.v] = Mark::closed;
        path.pop_back();
        continue;
      }
      const ClassId child = children[frame.next_child++];
      if (child.is_none()) continue;
      if (egraph.find(child) != child) return internal_error("the e-graph has not been rebuilt");
      if (marks[child.v] == Mark::open)
        return internal_error("class " + std::to_string(child.v) + " depends on itself");
      if (marks[child.v] == Mark::unseen) path.push_back({child, 0});
    }
  }
  const bool equal = total == selection.cost ||
                     std::abs(total - selection.cost) <= 1e-9 * std::max(1.0, std::abs(total));
  if (!equal) return internal_error(fmt::format("the cost is {}, not {}", total, selection.cost));
  return {};
}

}  // namespace lemma::engine
