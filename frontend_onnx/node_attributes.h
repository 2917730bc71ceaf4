#pragma once
// Attributes between ONNX messages and the neutral form of the operators' mappings.

#include "frontend_onnx/messages.h"
#include "frontend_onnx/tensor_source.h"
#include "ir/onnx_mapping.h"

namespace lemma::frontend {

/// Fills in attributes, tensors and lists of strings of the call; of kinds without a neutral form (graphs, ...) the
/// names.
Result<void> read_attributes(const ::onnx::NodeProto& node, const TensorSource& source,
                             OnnxCall& call);

Result<void> write_attribute(const std::string& name, const AttributeValue& value,
                             ::onnx::NodeProto& node);
void write_strings(const std::string& name, const std::vector<std::string>& values,
                   ::onnx::NodeProto& node);

}  // namespace lemma::frontend
