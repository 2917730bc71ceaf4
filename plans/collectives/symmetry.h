#pragma once
// Symmetries of topologies: nodes may change places without changing links.

#include <vector>

#include "plans/collectives/topology.h"

namespace lemma::collectives {

/// Where each node goes.
using Renaming = std::vector<Node>;

/// Renamings that keep all links with their capacities, among them the identity, which comes first. Only the identity leaves a node
/// where it is (the group acts freely): translations of a torus, for example.
using Symmetries = std::vector<Renaming>;

/// The identity alone.
Symmetries no_symmetries(const Topology& topology);

/// Some of the largest groups that one or two renamings make, by a search of limited length; none without any symmetry, or where
/// there are ports. The same topology has the same groups, in the same order.
std::vector<Symmetries> free_symmetries(const Topology& topology);

}  // namespace lemma::collectives
