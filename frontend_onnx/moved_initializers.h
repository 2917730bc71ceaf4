#pragma once
// Initializers of a graph that only one body uses.

#include <cstddef>

#include "frontend_onnx/messages.h"

namespace lemma::frontend {

/// Moves initializers that nothing but one body of one node uses into that body, and returns how many. The model
/// computes the same. A runtime may prepare the weights of a graph ahead of its runs, but not those of the graph around
/// it: ONNX Runtime packs weights of products and convolutions so. Left where they are: initializers that are inputs or
/// outputs too, and those whose contents are in another file. A model older than IR version 4 stays as it is, because
/// there initializers are inputs.
std::size_t move_initializers_into_bodies(::onnx::ModelProto& model);

}  // namespace lemma::frontend
