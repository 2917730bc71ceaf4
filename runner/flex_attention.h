#pragma once
// FlexAttention with bodies (ONNX, domain ai.onnx.preview): attention whose scores and weights are changed by bodies.

#include "runner/control_flow.h"

namespace lemma::runner {

/// Operands of types f32 or f64 and 4 axes: query (batch, heads, L, size), key (batch, heads of keys, S, size) and value (batch,
/// heads of keys, S, size of values). Each head of keys serves consecutive heads of the query. The result has the type of
/// the query.
Result<std::vector<RunTimeValue>> run_flex_attention(const ControlFlowCall& call);

}  // namespace lemma::runner
