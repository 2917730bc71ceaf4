#pragma once
// What choosing an e-node costs, in seconds at run time.

#include "costmodel/operator_costs.h"
#include "egraph/extraction.h"

namespace lemma {

/// What depends on constants alone is computed when the model is built: it costs (almost) nothing.
/// So do inputs, constants and projections. A little is added to every operation, so that among
/// equal costs fewer nodes win.
///
/// The function keeps the costs of forms, so it is to be used with one e-graph only, which may grow.
NodeCost node_costs(const OperatorCosts& costs);

}  // namespace lemma
