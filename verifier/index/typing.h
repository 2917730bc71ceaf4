#pragma once
// When an operation on symbolic sizes is defined. Shape inference decides this for concrete sizes
// and trusts symbolic ones where it cannot compare them; here all that it trusts is written down.

#include <vector>

#include "ir/graph.h"
#include "verifier/index/formula.h"

namespace lemma::verifier::index {

/// Together these say that every operation of the graph is well typed. An error names an operator
/// whose conditions are not known.
Result<std::vector<Formula>> typing_conditions(const Graph& graph);

/// The reads of the definition of one operation lie in their tensors wherever the output's index
/// lies in the output and the operation is well typed. An error says which read may not.
Result<void> check_reads(const Graph& graph, NodeId node);

}  // namespace lemma::verifier::index
