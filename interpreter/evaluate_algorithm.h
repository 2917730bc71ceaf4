#pragma once
// Scans, scatters and selections by rank (lowering/algorithms.h): what they go through is computed by the strip evaluator, and
// the rest in one pass over it.

#include <span>
#include <vector>

#include "interpreter/evaluate.h"
#include "lowering/algorithms.h"

namespace lemma::interpreter {

/// Reductions that the root is computed from whatever its guards say, and that are not inside of others. The last ones come
/// first.
std::vector<TermNumber> evaluated_reductions(const TermGraph& graph, TermNumber root);

/// The reduction for all its axes, as lanes in row-major order. False where plain evaluation must decide: elements have no
/// order or no steps in the domain, or something is undefined. Adds terms.
bool evaluate_algorithm(TermGraph& graph, TermNumber reduction,
                        const lowering::Algorithm& algorithm, const std::vector<LoopVariable>& axes,
                        std::span<const std::byte* const> inputs, std::byte* out,
                        const EvaluationOptions& options);

}  // namespace lemma::interpreter
