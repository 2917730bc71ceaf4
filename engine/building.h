#pragma once
// Adding nodes to an e-graph: templates of engine/egraph.h, which includes this.

#include "engine/egraph.h"

namespace lemma::engine {

template <typename L>
NodeTable::Key EGraph<L>::key_of_many(FormId form, std::span<const ClassId> children) {
  std::uint64_t hash = children.size();
  for (const ClassId child : children) {
    hash = (hash + child.v + 1) * 0x9e3779b97f4a7c15U;  // 2^64 over the golden ratio
    hash ^= hash >> 32U;
  }
  return {form.v, static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(hash >> 32U)};
}

template <typename L>
ENodeId EGraph<L>::append(FormId form, std::span<const ClassId> canonical,
                          std::span<const ClassId> founding) {
  const ENodeId id{static_cast<std::uint32_t>(nodes_.size())};
  ENode node;
  static_cast<Label&>(node) = language_.label_of(self(), form);
  node.child_count = static_cast<std::uint32_t>(canonical.size());
  if (node.child_count <= most_near) {
    std::copy(canonical.begin(), canonical.end(), node.near);
  } else {
    node.near[0].v = static_cast<std::uint32_t>(children_.size());
    children_.insert(children_.end(), canonical.begin(), canonical.end());
  }
  first_founding_child_.push_back(static_cast<std::uint32_t>(founding_children_.size()));
  founding_children_.insert(founding_children_.end(), founding.begin(), founding.end());
  const std::uint32_t symbol = L::symbol_of(node);
  for (std::size_t i = 0; i < canonical.size(); ++i) {
    const auto before = canonical.first(i);
    if (canonical[i].is_none() ||
        std::find(before.begin(), before.end(), canonical[i]) != before.end())
      continue;
    at(canonical[i]).parents.push_back(id);
    at(canonical[i]).parent_symbols |= symbol_bit(symbol);
  }
  nodes_.push_back(node);
  form_of_.push_back(form);
  stamp_of_.push_back(clock_);
  list_entries_ += 2 + canonical.size();
  if (symbol != no_symbol) {
    if (symbol >= symbol_nodes_.size()) symbol_nodes_.resize(symbol + std::size_t{1});
    symbol_nodes_[symbol].push_back(id);
  }
  return id;
}

template <typename L>
void EGraph<L>::found_class(ENodeId id) {
  parent_of_.push_back(id.v);
  if (free_places_.empty()) {
    free_places_.push_back(static_cast<std::uint32_t>(classes_.size()));
    classes_.emplace_back();
  }
  place_of_.push_back(free_places_.back());
  free_places_.pop_back();
  EClass& own = at(id.founded());
  own.nodes.push_back(id);
  own.node_symbols = symbol_bit(L::symbol_of(nodes_[id.v]));
  if constexpr (OwnAnalysis<L>)
    own.data = language_.found(self(), id);
  else
    own.data = language_.make(self(), id);
  ++class_count_;
  if constexpr (Modifies<L>) to_modify_.push_back(id.founded());
}

/// Does as if the node had founded a class, which was then united with `home`.
template <typename L>
void EGraph<L>::join_class(ENodeId id, ClassId home) {
  parent_of_.push_back(home.v);
  place_of_.push_back(absent_place);
  EClass& kept = at(home);
  kept.nodes.push_back(id);
  kept.node_symbols |= symbol_bit(L::symbol_of(nodes_[id.v]));
  if constexpr (OwnAnalysis<L>)
    language_.adopt(self(), home, id);
  else
    join_data(home, language_.make(self(), id));
}

template <typename L>
ClassId EGraph<L>::add(FormId form, std::span<const ClassId> children, ClassId home) {
  absl::InlinedVector<ClassId, 4> canonical(children.begin(), children.end());
  for (ClassId& child : canonical)
    if (!child.is_none()) child = find(child);
  const NodeTable::Key key = key_of(form, canonical);
  if (const std::uint32_t existing = lookup(key, canonical); existing != NodeTable::absent)
    return {existing};
  const ENodeId id = append(form, canonical, children);
  table_.insert(key, id.v);
  if (home.is_none())
    found_class(id);
  else
    join_class(id, find(home));
  return id.founded();
}

template <typename L>
std::size_t EGraph<L>::memory_bytes() const {
  return nodes_.capacity() * sizeof(ENode) + classes_.capacity() * sizeof(EClass) +
         (children_.capacity() + founding_children_.capacity()) * sizeof(ClassId) +
         (form_of_.capacity() + stamp_of_.capacity() + parent_of_.capacity() +
          place_of_.capacity() + first_founding_child_.capacity()) *
             sizeof(std::uint32_t) +
         table_.bytes() + 2 * list_entries_ * sizeof(ENodeId);
}

}  // namespace lemma::engine
