#pragma once
// Typed terms and the congruence closure of equalities between them.
//
// Terms are values of a Graph, which is hash-consed and infers types. Classes of equal values are
// kept beside it. Unlike in an e-graph for optimization (verifier/prover/saturate.h compares the two)
// every term that was ever built stays, as built: a proof step can name the very terms it speaks about.

#include <vector>

#include <absl/container/flat_hash_map.h>

#include "ir/graph.h"

namespace lemma::verifier {

/// One output of an operation, as a member of a class.
struct Member {
  NodeId node;
  std::uint32_t output = 0;
};

/// Why two values are equal: an output of a step of the search, or that two operations have equal
/// operands. What makes the operands equal came earlier.
struct Equality {
  static constexpr std::uint32_t no_step = 0xffffffffU;
  ValueId a, b;
  std::uint32_t step = no_step;  // its number; no_step: congruence of the producers of a and b
  std::uint32_t output = 0;      // of the step's axiom; a is on the left side, b on the right
};

class Closure {
 public:
  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }

  /// The oldest value of the class.
  ValueId find(ValueId value) const;
  bool equal(ValueId a, ValueId b) const { return find(a) == find(b); }
  /// Types of equal values are the same; false, and nothing done, if they are not.
  bool merge(const Equality& reason);

  /// Takes in what was built in the graph since, and closes under congruence. Queries below are
  /// right only after this.
  void rebuild();

  /// Operations whose outputs are in the class of `value`, one of each congruence class.
  const std::vector<Member>& members(ValueId value) const;
  /// All operations, one of each congruence class, ascending.
  const std::vector<NodeId>& operations() const { return operations_; }
  /// All equalities that were entered, oldest first.
  const std::vector<Equality>& equalities() const { return equalities_; }

 private:
  std::size_t signature_hash(const Node& node) const;
  bool same_signature(const Node& a, const Node& b) const;
  bool close_once();

  Graph graph_;
  std::vector<std::uint32_t> parents_;  // union-find over values; the root is the least
  std::vector<Equality> equalities_;
  std::vector<NodeId> operations_;
  std::vector<std::vector<Member>> members_;  // by class
};

}  // namespace lemma::verifier
