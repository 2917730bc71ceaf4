#pragma once
// Extraction with a proof of optimality, or a bound: egraph/exact/ applied to an e-graph of any
// language.

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "egraph/exact/extract.h"
#include "engine/extraction.h"

namespace lemma::engine {

/// How long an optimum is looked for, and by what.
struct ExactExtractionOptions {
  double time_limit_seconds = 10;  // by the clock; reading the e-graph is not cut short
  /// The proof may end once the bound is this near to the cost, relatively: costs in seconds have
  /// more digits than some solvers can hold.
  double good_enough = 1e-6;
  /// Ask the program clasp where it is installed.
  bool use_programs = true;
  /// Decisions of the own search before other solvers begin.
  std::size_t decisions = 60;
  /// False: none begins, so that the selection is the same in every run that the time limit does not end.
  bool races = true;
};

/// A selection, and how near to the optimum it is.
struct ExactSelection {
  Selection selection;  // never costs more than the one given
  /// No selection costs less, up to rounding of the sum of costs to a double; equal to the cost if
  /// `optimal`, and within `good_enough` of it if time was not up.
  double lower_bound = 0;
  bool optimal = false;  // proved; no cost had to be rounded for the solvers
  /// The solvers that it took.
  std::string method;
};

namespace detail {

/// The part of the e-graph that the roots reach, by numbers without gaps.
struct Translation {
  exact::Problem problem;                // classes, nodes and costs as integers
  exact::CostScale scale;                // from those costs back to the given ones
  std::vector<std::uint32_t> number_of;  // by class; none for those out of reach
  std::vector<ClassId> classes;          // by number
  std::vector<ENodeId> nodes;            // by node of the problem
};

/// Nodes of infinite cost are left out. An error: the costs are too large.
template <typename Graph, typename Cost>
Result<Translation> translate(const Graph& egraph, std::span<const ClassId> roots,
                              const Cost& cost) {
  Translation result;
  result.number_of.assign(egraph.id_count(), exact::none);
  const auto number = [&](ClassId id) {
    std::uint32_t& assigned = result.number_of[egraph.find(id).v];
    if (assigned == exact::none) {
      assigned = static_cast<std::uint32_t>(result.classes.size());
      result.classes.push_back(egraph.find(id));
    }
    return assigned;
  };
  for (const ClassId root : roots) result.problem.roots.push_back(number(root));
  std::vector<exact::Decimal> costs;
  for (std::uint32_t next = 0; next < result.classes.size(); ++next)
    for (const ENodeId id : egraph.nodes(result.classes[next])) {
      const double price = cost(egraph, id);
      if (!std::isfinite(price)) continue;
      exact::Node node;
      node.owner = next;
      for (const ClassId child : egraph.children(id))
        if (!child.is_none()) node.children.push_back(number(child));
      result.problem.nodes.push_back(std::move(node));
      result.nodes.push_back(id);
      costs.push_back(exact::decimal_of(price));
    }
  result.problem.class_count = static_cast<std::uint32_t>(result.classes.size());
  LEMMA_ASSIGN_OR_RETURN(const exact::ScaledCosts scaled, exact::scale_costs(costs));
  result.scale = scaled.scale;
  for (std::size_t i = 0; i < costs.size(); ++i) result.problem.nodes[i].cost = scaled.costs[i];
  return result;
}

/// For each class of the problem the node of a selection of ours.
inline std::vector<std::uint32_t> translate(const Translation& translation,
                                            const Selection& selection) {
  std::vector<std::uint32_t> choice(translation.classes.size(), exact::none);
  for (std::uint32_t i = 0; i < translation.nodes.size(); ++i) {
    const std::uint32_t owner = translation.problem.nodes[i].owner;
    if (selection[translation.classes[owner]] == translation.nodes[i]) choice[owner] = i;
  }
  return choice;
}

}  // namespace detail

/// Never more expensive than `initial`. At the time limit: the best so far, with a lower bound.
template <typename Graph, typename Cost>
Result<ExactSelection> extract_exactly(const Graph& egraph, std::span<const ClassId> roots,
                                       const Cost& cost, const Selection& initial,
                                       const ExactExtractionOptions& options = {}) {
  LEMMA_RETURN_IF_ERROR(engine::validate(egraph, roots, cost, initial));
  LEMMA_ASSIGN_OR_RETURN(const detail::Translation translation,
                         detail::translate(egraph, roots, cost));
  exact::ExtractOptions limits;
  limits.time_limit_seconds = options.time_limit_seconds;
  limits.use_programs = options.use_programs;
  limits.first_decisions = options.decisions;
  limits.races = options.races;
  limits.good_enough = options.good_enough;
  limits.initial = detail::translate(translation, initial);
  LEMMA_ASSIGN_OR_RETURN(const exact::Extraction extraction,
                         exact::extract(translation.problem, limits));
  ExactSelection result;
  result.selection.node_of.assign(egraph.id_count(), ENodeId::none());
  const auto& chosen = extraction.selection.node_of;
  for (std::uint32_t id = 0; id < chosen.size(); ++id)
    if (chosen[id] != exact::none)
      result.selection.node_of[translation.classes[id].v] = translation.nodes[chosen[id]];
  const auto order = engine::topological_order(egraph, roots, result.selection.node_of);
  if (!order) return internal_error("exact extraction ran in circles");
  for (const ClassId id : *order) result.selection.cost += cost(egraph, result.selection[id]);
  LEMMA_RETURN_IF_ERROR(engine::validate(egraph, roots, cost, result.selection));
  // Costs are exact in the problem, but their sum as a double depends on the order.
  if (result.selection.cost > initial.cost) result.selection = initial;
  result.optimal = extraction.optimal && translation.scale.rounded == 0;
  result.lower_bound = std::min(
      result.selection.cost,
      extraction.optimal ? result.selection.cost : translation.scale.value(extraction.lower_bound));
  result.method = extraction.method;
  return result;
}

}  // namespace lemma::engine
