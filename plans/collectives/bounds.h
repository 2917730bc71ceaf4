#pragma once
// What no schedule of a collective on a topology can beat, whatever its chunks are.

#include <cstdint>
#include <vector>

#include "plans/collectives/schedule.h"
#include "plans/collectives/topology.h"

namespace lemma::collectives {

/// Schedules have at least `steps` steps, and at least rounds_over / rounds_under rounds for each chunk: for each chunk of a node
/// in an all-gather and a reduce-scatter (schedules have `chunks / nodes` of them), and for each chunk of the tensor otherwise.
struct Bounds {
  std::uint64_t steps = 0;
  std::uint64_t rounds_over = 0, rounds_under = 1;  // without common divisors
  /// The nodes of the side of the cut which says so, from which chunks have to leave; empty where the links as a whole say so.
  std::vector<Node> cut;

  double rounds() const {
    return static_cast<double>(rounds_over) / static_cast<double>(rounds_under);
  }
  /// Rounds that so many chunks need at least: a whole number.
  std::uint64_t rounds_for(std::uint64_t chunks) const {
    return (chunks * rounds_over + rounds_under - 1) / rounds_under;
  }
};

/// Steps: the longest of the shortest paths on which a chunk has to go. Rounds: the worst of all cuts of the nodes in two sides,
/// by chunks that have to cross over what the links and ports carry across in a round. For an all-gather that is the bound of
/// ForestColl (Zhao et al., 2024, section 3), found by maximum flows whose minimum cuts lead to worse ones (Dinkelbach); all cuts
/// count, none is enumerated. For an all-reduce also 2(N-1) sends of each chunk over what all links carry: as many calls N
/// people need until each has heard all, if one talks in a call (Harary and Schwenk, 1974).
/// An error names two nodes that no path joins.
Result<Bounds> bounds_of(const Topology& topology, Collective collective, Node root = 0);

}  // namespace lemma::collectives
