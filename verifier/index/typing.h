#pragma once
// When an operation on symbolic sizes is well typed: the constraints of its record
// (ir/constraints.h), as formulas. Shape inference decides them for concrete sizes and assumes them
// for symbolic ones.

#include <vector>

#include "ir/graph.h"
#include "verifier/index/formula.h"

namespace lemma::verifier::index {

/// Together these say that every operation of the graph is well typed.
Result<std::vector<Formula>> typing_conditions(const Graph& graph);

/// The same of its composite operators alone.
Result<std::vector<Formula>> composite_conditions(const Graph& graph);

/// The reads of the definition of one operation lie in their tensors wherever the output's index
/// lies in the output and the operation is well typed. An error says which read may not.
Result<void> check_reads(const Graph& graph, NodeId node);

}  // namespace lemma::verifier::index
