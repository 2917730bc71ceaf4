#pragma once
// The check of a proof. It uses no results of the search: every step is instantiated from the text
// of its axiom, its guards are checked again, and Z3 must refute that the goals' sides differ,
// given the steps' equations as ground formulas over uninterpreted functions.

#include "base/result.h"
#include "verifier/prover/saturate.h"

namespace lemma::verifier {

/// Nothing if the goals follow; otherwise why that could not be shown.
Result<void> replay(Graph& graph, const std::vector<AxiomUse>& steps,
                    const std::vector<Goal>& goals);

}  // namespace lemma::verifier
