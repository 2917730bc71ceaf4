#pragma once
// FlexAttention (ONNX, domain ai.onnx.preview) with bodies, which change the scores and the weights, or with a softmax in
// another type than that of the operands.

#include "runner/control_flow.h"

namespace lemma::runner {

bool is_flex_attention(const KeptNode& node);

/// Operands of real types and 4 axes: query (batch, heads, L, size), key (batch, heads of keys, S, size) and value (batch,
/// heads of keys, S, size of values). Each head of keys serves consecutive heads of the query. The result has the type of
/// the query.
Result<std::vector<RunTimeValue>> run_flex_attention(const ControlFlowCall& call);

}  // namespace lemma::runner
