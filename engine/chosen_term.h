#pragma once
// The term that an extraction has chosen, for languages whose labels have a text.

#include <array>
#include <span>
#include <vector>

#include "engine/extraction.h"
#include "engine/terms.h"
#include "engine/words.h"

namespace lemma::engine {

/// The term of a class; terms that it has several times are in it once. Requires a selection of this
/// e-graph, with the class among its roots.
template <typename Graph>
Result<Term> chosen_term(const Graph& egraph, const Selection& selection, ClassId root) {
  static_assert(TextLanguage<typename Graph::Language>);
  const std::array roots = {root};
  const auto order = engine::topological_order(egraph, roots, selection.node_of);
  if (!order) return internal_error("the selection is not complete or has a cycle");
  Term term;
  std::vector<std::uint32_t> position(egraph.id_count());  // by class
  for (const ClassId id : *order) {
    const ENodeId node = selection[id];
    Term::Node chosen{std::string(egraph.language().text_of(egraph.form(node))), {}};
    for (const ClassId child : egraph.children(node)) chosen.children.push_back(position[child.v]);
    position[id.v] = static_cast<std::uint32_t>(term.nodes.size());
    term.nodes.push_back(std::move(chosen));
  }
  return term;
}

/// The term of the class with the fewest nodes, each counted as often as it occurs.
template <typename Graph>
Result<Term> smallest_term(const Graph& egraph, ClassId root) {
  const std::array roots = {root};
  const auto one = [](const Graph&, ENodeId) { return 1.0; };
  LEMMA_ASSIGN_OR_RETURN(const Selection selection, engine::extract_greedy(egraph, roots, one));
  return chosen_term(egraph, selection, root);
}

}  // namespace lemma::engine
