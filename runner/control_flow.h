#pragma once
// If, Loop, Scan, SequenceMap and FlexAttention as ONNX defines them (Operators.md), and loops of any number of steps.

#include "frontend_onnx/kept_node.h"
#include "runner/run_graph.h"

namespace lemma::runner {

struct ControlFlowCall {
  const KeptNode& node;
  std::string label;                       // of the node, for people
  std::span<const RunTimeValue> inputs;    // the node's own
  std::span<const RunTimeValue> captured;  // what its bodies take from around the node
  const ModelEnvelope& envelope;
  const RunOptions& options;
};

/// The node's outputs. `unsupported` for other operators with bodies.
Result<std::vector<RunTimeValue>> run_control_flow(const ControlFlowCall& call);

}  // namespace lemma::runner
