#pragma once
// Fusion through registers (FusionStitching's thread scheme): a tensor that is read once, element by element, is not
// stored. Its definition takes the place of the read, so that the fused computation is a definition like others.

#include "backend/lower/computation.h"

namespace lemma::backend {

/// A computation is fused into the one that reads its result if there is no other, if that does not compute any
/// element more than once, and if the result's elements are computed in the format that they would be stored in.
/// The operators of a fused computation are named in order: "MatMul + Add + Relu".
ComputationGraph fuse(ComputationGraph graph);

/// Whose loops the fused computations become: the vectors of a processor, or the lanes of a GPU.
enum class FuseFor : std::uint8_t { vectors, lanes };

/// The same. For lanes, more is computed where it is read, although elements are computed more than once: what takes a few
/// instructions from one tensor that is no larger, and others that are much smaller, for all of several readers; and a tensor
/// with its axes in another order, for sums of its elements. Tiles and lanes read factors in any order.
ComputationGraph fuse(ComputationGraph graph, FuseFor reader);

}  // namespace lemma::backend
