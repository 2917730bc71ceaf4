#pragma once
// Operators that no file has: they stand for what a runtime does when it loads a model, so that a search can say what
// that costs.

#include "ir/operator.h"

namespace lemma {

/// Owner of the operators of the blocked layout in which ONNX Runtime computes convolutions and pools on x86
/// (operators/channel_blocks.cpp). ONNX Runtime chooses it by itself.
inline constexpr std::string_view onnx_runtime_layout = "onnxruntime-layout";

inline bool is_of_layout(const OperatorRecord& op) { return op.runtime == onnx_runtime_layout; }

}  // namespace lemma
