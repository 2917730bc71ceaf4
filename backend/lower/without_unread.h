#pragma once
// Graphs without what nothing needs.

#include "backend/lower/computation.h"

namespace lemma::backend {

/// Without computations whose results nothing reads, and without weights and results that nothing uses any more. The graph has
/// no groups.
ComputationGraph without_unread(ComputationGraph graph);

/// Takes operands from a computation that its definition does not read.
void drop_unread_operands(Computation& computation);

}  // namespace lemma::backend
