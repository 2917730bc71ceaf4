#pragma once
// Why the chosen graph equals the original: the uses of rules that it takes, as a text that
// lemma-check replays (docs/certificates.md, "Explanations").
//
// The log of a saturation is a list of equations between ground terms. Equality of the outputs
// follows from some of them by congruence; which ones, a proof-producing congruence closure tells
// (Nieuwenhuis and Oliveras, "Proof-producing congruence closure", 2005). It runs only when an
// explanation is wanted: saturation keeps nothing but its log.

#include <span>
#include <string>

#include "egraph/saturation.h"

namespace lemma {

/// `egraph` holds the original graph, `log` is of `compiled`, and `chosen` is what was taken from
/// the e-graph, before constants are folded. `rules` are those from which `compiled` was made.
/// Errors: the graph has opaque operators; or the log does not lead from one graph to the other.
Result<std::string> explain(const Graph& original, const Graph& chosen, const EGraph& egraph,
                            std::span<const Substitution> rules,
                            std::span<const CompiledRule> compiled,
                            std::span<const Application> log);

}  // namespace lemma
