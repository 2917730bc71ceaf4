#pragma once
// Extraction with a proof of optimality, or a bound (engine/exact_extraction.h).

#include "egraph/extraction.h"
#include "engine/exact_extraction.h"

namespace lemma {

using engine::ExactExtractionOptions;
using engine::ExactSelection;

/// Never more expensive than `initial`. At the time limit: the best so far, with a lower bound.
Result<ExactSelection> extract_exactly(const EGraph& egraph, std::span<const ClassId> roots,
                                       const NodeCost& cost, const Selection& initial,
                                       const ExactExtractionOptions& options = {});

}  // namespace lemma
