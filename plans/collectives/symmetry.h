#pragma once
// Symmetries of topologies: nodes may change places without changing links.

#include <vector>

#include "plans/collectives/topology.h"

namespace lemma::collectives {

/// Where each node goes.
using Renaming = std::vector<Node>;

/// A group of renamings that keep all links with their capacities, in which only the identity leaves a node where it is (the
/// group acts freely): translations of a torus, for example. The identity comes first. It is the largest one that is made of
/// the first renamings which a search of limited length finds; without any symmetry it has the identity only.
std::vector<Renaming> free_symmetries(const Topology& topology);

}  // namespace lemma::collectives
