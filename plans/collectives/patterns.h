#pragma once
// Known algorithms as schedules, for any number of nodes. They know no topology: `fitted` puts them on one.

#include <optional>
#include <span>

#include "plans/clusters/collectives.h"
#include "plans/collectives/schedule.h"

namespace lemma::collectives {

using clusters::Algorithm;

/// The schedule of an algorithm, or nothing where there is none (an all-gather by halving; a reduce-scatter and a broadcast by
/// recursive doubling). No chunk is sent to a node that has it. A reduce-scatter is an all-gather backwards, in which
/// each chunk is added up along the tree by which it was spread. Where the number of nodes is no power of 2, doubling is Bruck's
/// algorithm (Bruck et al., IEEE TPDS 1997), and an all-reduce by recursive doubling gives the operands of the nodes beyond
/// the largest power of 2 to a partner first, and the result back last.
/// Steps and chunks are those of clusters::cost_of; where they are fewer, docs/plans.md says so.
std::optional<Schedule> pattern(Collective collective, Algorithm algorithm, std::size_t nodes,
                                Node root = 0);

/// Groups of so many nodes that follow one another: reduced within each group, then among the nodes with the same place in their
/// groups, and the other way round for what is gathered; all by rings, a broadcast by trees. `group` divides `nodes`.
Schedule hierarchical(Collective collective, std::size_t nodes, std::size_t group, Node root = 0);

/// The reduce-scatter that is an all-gather backwards.
Schedule backwards(const Schedule& all_gather);
/// An all-reduce: the all-gather backwards, and then the all-gather.
Schedule there_and_back(const Schedule& all_gather);

/// The same with `order[n]` in the place of node n. `order` has each node once.
Schedule renamed(const Schedule& schedule, std::span<const Node> order);

/// The same with the fewest rounds for each step that the links of a topology allow. An error names a send between nodes that
/// have no link.
Result<Schedule> fitted(Schedule schedule, const Topology& topology);

}  // namespace lemma::collectives
