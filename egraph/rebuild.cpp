// Merging classes and restoring congruence.

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "egraph/egraph.h"

namespace lemma {

namespace {

/// Most of the list is sorted already: what was added since is at its end.
void sort_distinct(std::vector<ENodeId>& list) {
  const auto sorted_end = std::is_sorted_until(list.begin(), list.end());
  std::sort(sorted_end, list.end());
  std::inplace_merge(list.begin(), sorted_end, list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace

void EGraph::touch(const std::vector<ENodeId>& nodes) {
  for (const ENodeId id : nodes) stamp_of_[id.v] = clock_;
}

Result<bool> EGraph::unite(ClassId a, ClassId b) {
  a = find(a);
  b = find(b);
  if (a == b) return false;
  if (b < a) std::swap(a, b);  // the older class keeps its number
  EClass &kept = at(a), &gone = at(b);
  if (kept.type != gone.type)
    return internal_error(fmt::format("values of type {} and {} cannot be equal",
                                      text(types_[kept.type.v][0]), text(types_[gone.type.v][0])));
  parent_of_[b.v] = a.v;
  --class_count_;
  if (!observed_.empty() && (is_seen(a) || is_seen(b))) observation_is_stale_ = true;
  // What is new for matching: the nodes that are now in another class, and those that have another
  // child.
  touch(gone.nodes);
  touch(gone.parents);
  const auto join = [](std::vector<ENodeId>& to, std::vector<ENodeId>& from) {
    if (to.size() < from.size()) to.swap(from);
    to.insert(to.end(), from.begin(), from.end());
    std::vector<ENodeId>().swap(from);
  };
  join(kept.nodes, gone.nodes);
  join(kept.parents, gone.parents);
  kept.node_kinds |= gone.node_kinds;
  kept.parent_kinds |= gone.parent_kinds;
  if (kept.weight_only != gone.weight_only) weight_changed_.push_back(a);
  kept.weight_only = kept.weight_only || gone.weight_only;
  kept.constant = std::min(kept.constant, gone.constant);
  const FactsId other = gone.facts;
  const bool differ = kept.facts != other;
  gone = {};
  free_places_.push_back(std::exchange(place_of_[b.v], absent_place));
  changed_.push_back(a);
  if (differ) {
    learn(a, other);
    facts_changed_.push_back(a);  // the parents of one of the two know less
  }
  return true;
}

void EGraph::mark_duplicate(ENodeId id) {
  nodes_[id.v].duplicate = true;
  duplicates_.push_back(id);
}

/// Gives a node canonical children. If it becomes equal to another, the older of the two stays.
void EGraph::repair(ENodeId id) {
  ENode& node = nodes_[id.v];
  if (node.duplicate) return;
  const std::span<ClassId> own = own_children(id);
  const bool canonical = std::all_of(own.begin(), own.end(), [this](ClassId child) {
    return child.is_none() || find(child) == child;
  });
  if (canonical) return;
  table_.erase(key_of(form_of_[id.v], own), id.v);
  for (ClassId& child : own)
    if (!child.is_none()) child = find(child);
  stamp_of_[id.v] = clock_;
  const NodeTable::Key key = key_of(form_of_[id.v], own);
  const std::uint32_t other = lookup(key, own);
  if (other == NodeTable::absent) {
    table_.insert(key, id.v);
    return;
  }
  if (other < id.v) {
    mark_duplicate(id);
  } else {
    table_.erase(key, other);
    table_.insert(key, id.v);
    mark_duplicate({other});
  }
  // Congruent nodes have equal operators, attributes and operand types: their types agree.
  (void)unite(id.founded(), {other});
}

void EGraph::rebuild() {
  while (!changed_.empty()) {
    std::vector<ClassId> todo;
    todo.swap(changed_);
    for (ClassId& id : todo) id = find(id);
    std::sort(todo.begin(), todo.end());
    todo.erase(std::unique(todo.begin(), todo.end()), todo.end());
    for (const ClassId id : todo) {
      // Repairing may merge this very class with others; what is then added to its list is dealt
      // with in the next round.
      std::vector<ENodeId> parents = at(find(id)).parents;
      sort_distinct(parents);
      for (const ENodeId parent : parents) repair(parent);
      if (find(id) != id) continue;
      sort_distinct(at(id).parents);
    }
  }
  drop_duplicates();
  propagate_weight_only();
  propagate_facts();
  find_observed();
  // An older class never points to a younger one: one pass makes all paths short.
  for (std::uint32_t& parent : parent_of_) parent = parent_of_[parent];
}

void EGraph::drop_duplicates() {
  if (duplicates_.empty()) return;
  const auto prune = [this](std::vector<ENodeId>& list) {
    std::erase_if(list, [this](ENodeId id) { return nodes_[id.v].duplicate; });
  };
  std::vector<ClassId> holders, operands;
  for (const ENodeId id : duplicates_) {
    holders.push_back(find(id.founded()));
    for (const ClassId child : children(id))
      if (!child.is_none()) operands.push_back(find(child));
  }
  for (std::vector<ClassId>* list : {&holders, &operands}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  for (const ClassId id : holders) prune(at(id).nodes);
  for (const ClassId id : operands) prune(at(id).parents);
  duplicates_.clear();
  for (std::vector<ENodeId>& list : operator_nodes_) prune(list);
  prune(projections_);
}

void EGraph::propagate_weight_only() {
  while (!weight_changed_.empty()) {
    const ClassId id = find(weight_changed_.back());
    weight_changed_.pop_back();
    touch(at(id).parents);
    touch(at(id).nodes);
    for (const ENodeId parent : at(id).parents) {
      EClass& above = at(find(parent.founded()));
      if (above.weight_only || !weight_only(parent)) continue;
      above.weight_only = true;
      weight_changed_.push_back(find(parent.founded()));
    }
  }
}

Result<void> EGraph::check_invariants() const {
  if (!changed_.empty()) return internal_error("rebuild() has not been called");
  std::size_t classes = 0, live = 0;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const ENodeId id{i};
    const ClassId own = find(id.founded());
    if (own.v > i) return internal_error(fmt::format("class of node {} is younger than it", i));
    if (own.v == i) ++classes;
    if ((own.v == i) != (place_of_[i] != absent_place))
      return internal_error(fmt::format("class {} is {}kept", i, own.v == i ? "not " : ""));
    for (const ClassId child : founding_children(id))
      if (!child.is_none() && child.v >= i)
        return internal_error(fmt::format("node {} was added before its child", i));
    const auto& members = at(own).nodes;
    const bool listed = std::find(members.begin(), members.end(), id) != members.end();
    if (listed == nodes_[i].duplicate)
      return internal_error(
          fmt::format("node {} is {}in its class's list", i, listed ? "" : "not "));
    if (nodes_[i].duplicate) continue;
    ++live;
    if (lookup(key_of(form_of_[i], children(id)), children(id)) != i)
      return internal_error(fmt::format("node {} is not found by its content", i));
    if (!may_have_node(own, nodes_[i].kind, nodes_[i].op))
      return internal_error(fmt::format("class {} denies its node {}", own.v, i));
    if (weight_only(id) && !weight_only(own))
      return internal_error(fmt::format("class {} is not marked as weight-only", own.v));
    for (const ClassId child : children(id)) {
      if (child.is_none()) continue;
      if (find(child) != child)
        return internal_error(fmt::format("node {} has a child that is not canonical", i));
      const auto& above = at(child).parents;
      if (std::find(above.begin(), above.end(), id) == above.end())
        return internal_error(fmt::format("node {} is not among the parents of its child", i));
      if (!may_have_parent(child, nodes_[i].kind, nodes_[i].op))
        return internal_error(fmt::format("class {} denies its parent {}", child.v, i));
    }
  }
  if (classes != class_count_ || live != table_.size())
    return internal_error("the counts of classes or nodes are wrong");
  return {};
}

}  // namespace lemma
