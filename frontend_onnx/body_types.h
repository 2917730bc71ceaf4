#pragma once
// Types of what If and Loop give, from the types that their bodies declare for their outputs.

#include <functional>
#include <vector>

#include "frontend_onnx/messages.h"
#include "ir/tensor_type.h"
#include "procedures/result_types.h"

namespace lemma::frontend {

/// One for each output of the node; of unknown type where nothing certain is declared, and for other operators.
/// `operands`: the types of the node's operands.
std::vector<TensorType> body_types(const ::onnx::NodeProto& node,
                                   const std::vector<TensorType>& operands,
                                   const UnknownSize& unknown);

}  // namespace lemma::frontend
