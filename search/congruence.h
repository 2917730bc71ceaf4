#pragma once
// Congruence closure over the values of a graph that remembers why values are equal.

#include <cstdint>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include "ir/graph.h"

namespace lemma {

class Congruence {
 public:
  /// The graph may grow; nodes that are new are taken in by merge() and equal().
  explicit Congruence(const Graph& graph) : graph_(graph) {}

  /// States an equation, by a number of the caller's.
  void merge(ValueId a, ValueId b, std::uint32_t equation);
  /// The same, of what needs no reason.
  void merge(ValueId a, ValueId b) { merge(a, b, Reason::granted); }
  bool equal(ValueId a, ValueId b);
  /// A number that equal values share, until the next equation.
  std::uint32_t class_of(ValueId value);
  /// Numbers of equations from which the equality follows, ascending. Requires equal(a, b).
  std::vector<std::uint32_t> reasons(ValueId a, ValueId b);

 private:
  /// Why a value equals the next one on its path: an equation, or that their nodes are alike.
  struct Reason {
    static constexpr std::uint32_t congruence = 0xffffffffU, granted = 0xfffffffeU;
    std::uint32_t equation = congruence;
    NodeId a, b;
  };
  struct Edge {
    ValueId a, b;
    Reason reason;
  };
  using Key = absl::InlinedVector<std::uint32_t, 6>;

  void take_in_new_nodes();
  void look_up(NodeId id);
  void work_off();
  void unite(const Edge& edge);
  std::uint32_t label_of(const Node& node);
  std::uint32_t find(std::uint32_t value);

  const Graph& graph_;
  std::size_t nodes_taken_ = 0;
  std::vector<std::uint32_t> parent_;       // union-find, by value
  std::vector<std::vector<NodeId>> users_;  // of all values of a class; at its root
  std::vector<std::vector<ValueId>> members_;
  std::vector<ValueId> next_;  // a forest of equalities; none at its roots
  std::vector<Reason> why_;    // of the step to next_
  std::vector<Edge> waiting_;
  absl::flat_hash_map<Key, NodeId> table_;
  absl::flat_hash_map<std::size_t, std::vector<std::pair<NodeId, std::uint32_t>>> labels_;
  std::uint32_t label_count_ = 0;
};

}  // namespace lemma
