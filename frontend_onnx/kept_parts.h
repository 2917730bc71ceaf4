#pragma once
// Parts of the file that came in that say something of its graph: they are written again where what they refer to is
// still there.

#include <string>
#include <vector>

#include "frontend_onnx/envelope.h"
#include "frontend_onnx/messages.h"
#include "frontend_onnx/value_names.h"
#include "ir/graph.h"

namespace lemma::frontend {

/// Adds the quantization annotations whose tensors all have names in the new graph.
void keep_annotations(const ModelEnvelope::Data& envelope, const ValueNames& names,
                      ::onnx::GraphProto& graph);

/// Whether the part for training is kept: it is of use only as long as the weights that it changes are all that the
/// model computes with.
bool keeps_training(const Graph& graph, const std::vector<NodeId>& live,
                    const ModelEnvelope::Data& envelope, const ValueNames& names);

/// Lists the outputs of a graph in the order of the file, which may name one twice.
void repeat_outputs(const std::vector<std::string>& order, ::onnx::GraphProto& graph);

}  // namespace lemma::frontend
