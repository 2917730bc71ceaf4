#include "egraph/extraction.h"

#include <algorithm>

#include "egraph/local_search.h"

namespace lemma {

std::optional<std::vector<ClassId>> topological_order(const EGraph& egraph,
                                                      std::span<const ClassId> roots,
                                                      const std::vector<ENodeId>& node_of) {
  return engine::topological_order(egraph, roots, node_of);
}

std::vector<ENodeId> cheapest_trees(const EGraph& egraph, const std::vector<double>& node_cost,
                                    const std::vector<char>& free) {
  return engine::cheapest_trees(egraph, node_cost, free);
}

Result<Selection> extract_greedy(const EGraph& egraph, std::span<const ClassId> roots,
                                 const NodeCost& cost) {
  return engine::extract_greedy(egraph, roots, cost);
}

Result<void> validate(const EGraph& egraph, std::span<const ClassId> roots, const NodeCost& cost,
                      const Selection& selection) {
  return engine::validate(egraph, roots, cost, selection);
}

Selection original_selection(const EGraph& egraph, std::span<const ClassId> roots,
                             const NodeCost& cost) {
  // Operands of an original node have smaller numbers than it, and so has the oldest node of each
  // operand's class: there is no cycle.
  std::vector<ENodeId> node_of(egraph.id_count(), ENodeId::none());
  for (std::uint32_t i = 0; i < egraph.original_id_limit(); ++i) {
    const ENodeId id{i};
    if (egraph.node(id).duplicate) continue;
    ENodeId& chosen = node_of[egraph.find(id.founded()).v];
    if (chosen.is_none()) chosen = id;
  }
  return engine::finished(egraph, roots, cost, node_of);
}

Result<Selection> extract(const EGraph& egraph, std::span<const ClassId> roots,
                          const NodeCost& cost, const Selection& initial,
                          const ExtractionOptions& options) {
  LEMMA_RETURN_IF_ERROR(validate(egraph, roots, cost, initial));
  const std::vector<double> node_cost = engine::costs_of_nodes(egraph, cost);
  Selection best = initial;
  const auto greedy = extract_greedy(egraph, roots, cost);
  const auto improve = [&](const Selection& start, double seconds) {
    std::vector<ENodeId> improved =
        search_locally(egraph, roots, node_cost, start.node_of, {seconds, options.max_passes});
    Selection candidate = engine::finished(egraph, roots, cost, improved);
    if (candidate.cost < best.cost) best = std::move(candidate);
  };
  improve(initial, options.time_limit_seconds / 2);
  if (greedy) {
    if (greedy->cost < best.cost) best = *greedy;
    improve(*greedy, options.time_limit_seconds / 2);
  }
  return best;
}

}  // namespace lemma
