#pragma once
// Numbers of what an e-graph holds.

#include <compare>
#include <cstdint>
#include <utility>

namespace lemma::engine {

/// A class of equal terms. Every e-node founds a class of the same number; merged classes go by
/// the smallest number among them (EGraph::find). So a number that is not canonical any more still
/// names a term: that of the e-node with this number (EGraph::founding_children).
struct ClassId {
  std::uint32_t v = 0xffffffffU;
  /// Stands for an absent optional child.
  static constexpr ClassId none() { return {}; }
  bool is_none() const { return v == 0xffffffffU; }
  friend auto operator<=>(ClassId, ClassId) = default;
  template <typename H>
  friend H AbslHashValue(H state, ClassId id) {
    return H::combine(std::move(state), id.v);
  }
};

struct ENodeId {
  std::uint32_t v = 0xffffffffU;
  static constexpr ENodeId none() { return {}; }
  bool is_none() const { return v == 0xffffffffU; }
  /// The class that the node founded.
  ClassId founded() const { return {v}; }
  friend auto operator<=>(ENodeId, ENodeId) = default;
};

/// What the language keeps of a node once for all of its like: all but its children. Nodes are equal
/// if their forms and children are.
struct FormId {
  std::uint32_t v = 0xffffffffU;
  friend auto operator<=>(FormId, FormId) = default;
};

}  // namespace lemma::engine
