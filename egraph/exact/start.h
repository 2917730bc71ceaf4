#pragma once
// A good selection, without proof: what the exact solvers start from.

#include <optional>

#include "egraph/exact/outcome.h"

namespace lemma::exact {

/// The best of several greedy selections, improved by local search. Effort is counted in steps, so
/// the result is always the same for the same problem, unless the limit is reached first. Nothing if
/// no selection exists.
std::optional<Selection> start_selection(const Problem& problem, const Limit& limit = {});

/// For each class the node with the cheapest tree, given how much each class counts for its users
/// (Knuth 1977, the generalization of Dijkstra's algorithm): never runs in circles. none for
/// classes that cannot be chosen. Negative costs count as 0.
std::vector<std::uint32_t> cheapest_trees(const Problem& problem,
                                          const std::vector<double>& weight);

/// For each class a node of a cheap selection of that class, where what is shared counts once; never
/// runs in circles. none for classes that cannot be chosen. At the limit the cheapest trees.
std::vector<std::uint32_t> cheap_choice(const Problem& problem, const Limit& limit = {});

/// Exchanges the node of one class at a time while that helps, then tries again from perturbed
/// selections, `rounds` times.
Selection improve(const Problem& problem, Selection selection, std::size_t rounds,
                  const Limit& limit = {});

}  // namespace lemma::exact
