#pragma once
// Tensors in memory as the loops over them want to read them: no bounds to check, neighbours side by side.

#include "backend_cuda/lower/computation.h"

namespace lemma::backend {

/// Where windows reach over the edge of a tensor, the tensor is stored once with its padding (implicit padding of
/// convolutions and pools), so that no read is guarded.
ComputationGraph store_padding(ComputationGraph graph);

/// Weights that a result's last axis goes through in steps are stored with that axis last.
ComputationGraph turn_weights(ComputationGraph graph);

}  // namespace lemma::backend
