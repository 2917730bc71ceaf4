#include "egraph/exact_extraction.h"

namespace lemma {

Result<ExactSelection> extract_exactly(const EGraph& egraph, std::span<const ClassId> roots,
                                       const NodeCost& cost, const Selection& initial,
                                       const ExactExtractionOptions& options) {
  return engine::extract_exactly(egraph, roots, cost, initial, options);
}

}  // namespace lemma
