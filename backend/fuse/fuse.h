#pragma once
// Fusion through registers (FusionStitching's thread scheme): a tensor that is read once, element by element, is not
// stored. Its definition takes the place of the read, so that the fused computation is a definition like others.

#include "backend/lower/computation.h"

namespace lemma::backend {

/// A computation is fused into the one that reads its result if there is no other, if that does not compute any
/// element more than once, and if the result's elements are computed in the format that they would be stored in.
/// The operators of a fused computation are named in order: "MatMul + Add + Relu".
ComputationGraph fuse(ComputationGraph graph);

}  // namespace lemma::backend
