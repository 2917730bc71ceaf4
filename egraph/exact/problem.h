#pragma once
// Exact DAG extraction: the problem, whatever e-graph it comes from.
//
// There are classes, and each node belongs to one class, has a cost and needs some classes. Choose
// one node for some classes, so that every root class is chosen, whatever a chosen node needs is
// chosen too, no choice needs itself by any path, and every chosen class is needed by a root. Each
// choice counts once, however often it is needed. The sum is to be the least; it may be negative.

#include <cstdint>
#include <optional>
#include <vector>

#include "egraph/exact/cost.h"

namespace lemma::exact {

inline constexpr std::uint32_t none = 0xffffffffU;

struct Node {
  std::uint32_t owner = 0;  // its class
  Cost cost = 0;
  std::vector<std::uint32_t> children;  // classes; may repeat
};

struct Problem {
  std::uint32_t class_count = 0;
  std::vector<Node> nodes;
  std::vector<std::uint32_t> roots;  // classes; may repeat

  /// The nodes by class, ascending.
  std::vector<std::vector<std::uint32_t>> nodes_by_class() const;
  bool has_negative_costs() const;
};

struct Selection {
  /// The chosen node by class; none for classes that no root needs.
  std::vector<std::uint32_t> node_of;
  Cost cost = 0;
};

/// Keeps what the roots need of a choice, and adds up its cost. Nothing if a class that is needed
/// has no node, or needs itself.
std::optional<Selection> finished_selection(const Problem& problem,
                                            const std::vector<std::uint32_t>& choice);

}  // namespace lemma::exact
