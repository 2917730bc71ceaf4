#pragma once
// What a node that is kept as a message computes, in this file and in any other that it is written to.

#include <string>
#include <string_view>

#include "frontend_onnx/messages.h"
#include "frontend_onnx/tensor_source.h"

namespace lemma::frontend {

/// A digest of the node without the names of what it takes and gives, and of what its tensors hold, wherever
/// that stands.
Result<std::string> meaning_of(::onnx::NodeProto node, const TensorSource& source);
/// The same of a FunctionProto in serialized form, with all of its names.
Result<std::string> meaning_of_function(std::string_view function, const TensorSource& source);

}  // namespace lemma::frontend
