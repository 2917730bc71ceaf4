#pragma once
// Models whose operations are computed in a 16-bit type.

#include <functional>
#include <string>

#include "base/result.h"
#include "ir/graph.h"

namespace lemma::training {

/// Whether a constant of this name and type is a weight that is trained.
using IsTrained = std::function<bool(const std::string& name, const TensorType& type)>;

/// The model with all of its operations on f32 in `half`, which is f16 or bf16. Inputs, outputs and trained weights stay
/// f32; a Cast stands behind each of these inputs and weights, and before each output. Other constants become the nearest number
/// of the narrow type; a finite one stays finite, so that a mask of -1e38 is no infinity.
Result<Graph> in_half_precision(const Graph& model, DataType half, const IsTrained& is_trained);

}  // namespace lemma::training
