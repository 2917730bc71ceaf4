#pragma once
// Scans, scatters and selections by rank become computations of their own.

#include "backend/lower/computation.h"

namespace lemma::backend {

/// A reduction that has an algorithm (lowering/algorithms.h) and is a part of a definition is computed before the rest, which
/// reads it: the positions of a TopK before its values. Equal ones are computed once. Computations that are all of such a
/// reduction are stored.
ComputationGraph separate_algorithms(ComputationGraph graph);

}  // namespace lemma::backend
