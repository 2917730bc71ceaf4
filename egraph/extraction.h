#pragma once
// Choosing one e-node for each class that is needed, so that the chosen nodes form a graph without
// cycles and cost little. Every chosen node counts once, however often it is used (DAG cost).
//
// The extraction has two stages. Greedy: classes get a node in the order of their cost as trees
// (Knuth 1977, the generalization of Dijkstra's algorithm), which never runs in circles. Then local
// search over the DAG cost: exchanging the node of one class, or of all outputs of a node with
// several outputs at once, counting exactly what comes into use and what falls out of use (as
// "exact area recovery" does in logic synthesis). The original graph is a candidate too, so the
// result never costs more.

#include <functional>
#include <span>
#include <vector>

#include "egraph/egraph.h"
#include "engine/extraction.h"

namespace lemma {

/// The cost of computing a node once its operands are there: at least 0; infinite for nodes that
/// must not be chosen. Tuples and projections are asked for too: projections should cost nothing.
using NodeCost = std::function<double(const EGraph&, ENodeId)>;

using engine::Selection;

/// Limits of the local search.
struct ExtractionOptions {
  double time_limit_seconds = 10;  // half of it from each of the two starts
  std::size_t max_passes = 20;     // over the classes in use, from each start
};

/// The graph that was added: each class by its oldest node. Costs no more than that graph, since
/// values that turned out equal are computed once.
Selection original_selection(const EGraph& egraph, std::span<const ClassId> roots,
                             const NodeCost& cost);

/// Greedy only. An error if a root cannot be computed at finite cost.
Result<Selection> extract_greedy(const EGraph& egraph, std::span<const ClassId> roots,
                                 const NodeCost& cost);

/// The best that greedy and local search find from either start; never more expensive than `initial`.
Result<Selection> extract(const EGraph& egraph, std::span<const ClassId> roots,
                          const NodeCost& cost, const Selection& initial,
                          const ExtractionOptions& options = {});

/// Whether the selection computes all roots: every class that is needed has a node of its own, in
/// no cycle, and the cost is the one given. Written independently of how selections are found.
Result<void> validate(const EGraph& egraph, std::span<const ClassId> roots, const NodeCost& cost,
                      const Selection& selection);

/// The classes in use, operands before users; ties by node number. Nothing if there is a cycle or a
/// class without a node.
std::optional<std::vector<ClassId>> topological_order(const EGraph& egraph,
                                                      std::span<const ClassId> roots,
                                                      const std::vector<ENodeId>& node_of);

}  // namespace lemma
