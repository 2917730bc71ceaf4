#pragma once
// Merging classes, restoring congruence and the analysis: templates of engine/egraph.h, which
// includes this.

#include <string>

#include "engine/egraph.h"

namespace lemma::engine {

namespace detail {

/// Most of the list is sorted already: what was added since is at its end.
inline void sort_distinct(std::vector<ENodeId>& list) {
  const auto sorted_end = std::is_sorted_until(list.begin(), list.end());
  std::sort(sorted_end, list.end());
  std::inplace_merge(list.begin(), sorted_end, list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

inline void sort_distinct(std::vector<ClassId>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

inline void move_to_end(std::vector<ENodeId>& to, std::vector<ENodeId>& from) {
  if (to.size() < from.size()) to.swap(from);
  to.insert(to.end(), from.begin(), from.end());
  std::vector<ENodeId>().swap(from);
}

}  // namespace detail

/// The classes of a worklist, which is empty then: canonical, ascending.
template <typename Graph>
std::vector<ClassId> take_canonical(const Graph& graph, std::vector<ClassId>& worklist) {
  std::vector<ClassId> taken;
  taken.swap(worklist);
  for (ClassId& id : taken) id = graph.find(id);
  detail::sort_distinct(taken);
  return taken;
}

template <typename L>
bool EGraph<L>::unite(ClassId a, ClassId b) {
  a = find(a);
  b = find(b);
  if (a == b) return false;
  if (b < a) std::swap(a, b);  // the older class keeps its number
  EClass &kept = at(a), &gone = at(b);
  parent_of_[b.v] = a.v;
  --class_count_;
  // What is new for matching: the nodes that are now in another class, and those that have another
  // child.
  touch(gone.nodes);
  touch(gone.parents);
  detail::move_to_end(kept.nodes, gone.nodes);
  detail::move_to_end(kept.parents, gone.parents);
  kept.node_symbols |= gone.node_symbols;
  kept.parent_symbols |= gone.parent_symbols;
  const Data known = std::move(gone.data);
  gone = {};
  free_places_.push_back(std::exchange(place_of_[b.v], absent_place));
  changed_.push_back(a);
  if constexpr (OwnAnalysis<L>)
    language_.united(self(), a, b, known);
  else
    unite_data(a, known);
  return true;
}

template <typename L>
void EGraph<L>::join_data(ClassId canonical, const Data& other) requires Analysis<L> {
  if (language_.join(at(canonical).data, other)) data_changed_.push_back(canonical);
}

/// The parents of one of two classes know less if either has learnt something from the other.
template <typename L>
void EGraph<L>::unite_data(ClassId canonical, const Data& gone) requires Analysis<L> {
  Data other = gone;
  const bool other_learns = language_.join(other, at(canonical).data);
  if (language_.join(at(canonical).data, gone) || other_learns) data_changed_.push_back(canonical);
}

template <typename L>
void EGraph<L>::mark_duplicate(ENodeId id) {
  nodes_[id.v].duplicate = true;
  duplicates_.push_back(id);
}

/// Gives a node canonical children. If it becomes equal to another, the older of the two stays.
template <typename L>
void EGraph<L>::repair(ENodeId id) {
  if (nodes_[id.v].duplicate) return;
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
  unite(id.founded(), {other});
}

template <typename L>
void EGraph<L>::restore_congruence() {
  while (!changed_.empty())
    for (const ClassId id : take_canonical(*this, changed_)) {
      // Repairing may merge this very class with others; what is then added to its list is dealt
      // with in the next round.
      std::vector<ENodeId> parents = at(find(id)).parents;
      detail::sort_distinct(parents);
      for (const ENodeId parent : parents) repair(parent);
      if (find(id) != id) continue;
      detail::sort_distinct(at(id).parents);
    }
}

template <typename L>
void EGraph<L>::rebuild() {
  do {
    restore_congruence();
    drop_duplicates();
    restore_data();
  } while (!changed_.empty() || !data_changed_.empty() || !to_modify_.empty());
  // An older class never points to a younger one: one pass makes all paths short.
  for (std::uint32_t& parent : parent_of_) parent = parent_of_[parent];
}

template <typename L>
void EGraph<L>::drop_duplicates() {
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
  detail::sort_distinct(holders);
  detail::sort_distinct(operands);
  for (const ClassId id : holders) prune(at(id).nodes);
  for (const ClassId id : operands) prune(at(id).parents);
  duplicates_.clear();
  for (std::vector<ENodeId>& list : symbol_nodes_) prune(list);
}

template <typename L>
void EGraph<L>::restore_data() {
  if constexpr (OwnAnalysis<L>) {
    language_.restore(self());
  } else {
    if constexpr (Modifies<L>)
      for (const ClassId id : take_canonical(*this, to_modify_)) language_.modify(self(), find(id));
    propagate_data();
  }
}

/// Tells the parents of what is known now. Where classes have become equal meanwhile, congruence
/// comes first: rebuild() calls this again.
template <typename L>
void EGraph<L>::propagate_data() requires Analysis<L> {
  while (changed_.empty() && !data_changed_.empty())
    for (const ClassId id : take_canonical(*this, data_changed_)) {
      // Matches that a condition has kept out are looked at again.
      touch(at(id).parents);
      touch(at(id).nodes);
      for (const ENodeId parent : at(id).parents)
        join_data(find(parent.founded()), language_.make(self(), parent));
      if constexpr (Modifies<L>) to_modify_.push_back(id);
    }
}

template <typename L>
Result<void> EGraph<L>::check_node(ENodeId id) const {
  const auto wrong = [](const std::string& text) { return internal_error(text); };
  const std::string name = "node " + std::to_string(id.v);
  const ClassId own = find(id.founded());
  if (lookup(key_of(form_of_[id.v], children(id)), children(id)) != id.v)
    return wrong(name + " is not found by its content");
  const std::uint32_t symbol = L::symbol_of(nodes_[id.v]);
  if (!may_have_node(own, symbol))
    return wrong("class " + std::to_string(own.v) + " denies its " + name);
  for (const ClassId child : children(id)) {
    if (child.is_none()) continue;
    if (find(child) != child) return wrong(name + " has a child that is not canonical");
    const auto& above = at(child).parents;
    if (std::find(above.begin(), above.end(), id) == above.end())
      return wrong(name + " is not among the parents of its child");
    if (!may_have_parent(child, symbol))
      return wrong("class " + std::to_string(child.v) + " denies its parent " + name);
  }
  return {};
}

template <typename L>
Result<void> EGraph<L>::check_invariants() const {
  if (!changed_.empty()) return internal_error("rebuild() has not been called");
  std::size_t classes = 0, live = 0;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const ENodeId id{i};
    const ClassId own = find(id.founded());
    if (own.v > i)
      return internal_error("class of node " + std::to_string(i) + " is younger than it");
    if (own.v == i) ++classes;
    if ((own.v == i) != (place_of_[i] != absent_place))
      return internal_error("class " + std::to_string(i) + " is " +
                            (own.v == i ? "not kept" : "kept"));
    for (const ClassId child : founding_children(id))
      if (!child.is_none() && child.v >= i)
        return internal_error("node " + std::to_string(i) + " was added before its child");
    const auto& members = at(own).nodes;
    const bool listed = std::find(members.begin(), members.end(), id) != members.end();
    if (listed == nodes_[i].duplicate)
      return internal_error("node " + std::to_string(i) + " is " + (listed ? "" : "not ") +
                            "in its class's list");
    if (nodes_[i].duplicate) continue;
    ++live;
    LEMMA_RETURN_IF_ERROR(check_node(id));
  }
  if (classes != class_count_ || live != table_.size())
    return internal_error("the counts of classes or nodes are wrong");
  return {};
}

}  // namespace lemma::engine
