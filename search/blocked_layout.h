#pragma once
// The blocked layout of a runtime as a matter of costs (ir/runtime_layout.h): which operators it computes in
// blocks of channels, and where it has to move between layouts.
//
// The e-graph of a search is given the blocked forms of what it holds after all other rules are through. Each of them is
// the image of a plain node: op(Unblock(y)) = Unblock(op(y)). So a graph that is extracted with these forms says which
// plain graph has the fewest moves, and that one stands in the e-graph as well.

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "egraph/extraction.h"
#include "search/saturation_round.h"

namespace lemma {

/// Operators that these rules give a blocked form.
std::set<OperatorId> operators_with_blocked_form(const RuleSet& layouts);

/// The graph with plain operators in place of blocked ones, and without moves between layouts. An error where a blocked
/// form is not the image of a plain one.
Result<Graph> in_plain_layout(const Graph& graph);

/// Node costs in a runtime that computes in blocks what it has blocked forms of: these cost what the plain operators do;
/// a plain one cannot be chosen where a rule has given its class a blocked form. For one e-graph, which must not grow.
NodeCost blocked_layout_costs(const OperatorCosts& costs, const RuleSet& layouts);

/// A graph and what it costs with moves between layouts.
struct LaidOut {
  Graph graph;
  double seconds = 0;
  Selection selection;
};

/// Adds blocked forms to the e-graph and extracts the cheapest graph with them, in plain operators. It costs no more
/// than any of `plain` in the layouts that the runtime would choose for it. `seconds`: for both steps; nothing if the first
/// one does not end by then.
Result<std::optional<LaidOut>> lay_out(EGraph& egraph, const RuleSet& layouts,
                                       const OperatorCosts& costs, std::span<const Selection> plain,
                                       double seconds);

/// What the graph costs as it is, in its cheapest layout; nothing if there was no time to find out.
Result<std::optional<double>> seconds_laid_out(const Graph& graph, const RuleSet& layouts,
                                               const OperatorCosts& costs, double seconds);

}  // namespace lemma
