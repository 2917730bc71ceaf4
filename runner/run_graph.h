#pragma once
// Running graphs with opaque nodes: bodies of If, Loop, Scan and SequenceMap, operators whose results' sizes depend on
// values, sequences, optional values and strings.
//
// A node that import understood is evaluated from its record by the interpreter. An opaque node is read once its
// operands are known: with their types and contents it may be an operation after all; a node with bodies runs these,
// whatever they capture included; for the rest there are procedures (procedures/procedure.h).

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "frontend_onnx/model.h"
#include "interpreter/evaluate.h"
#include "ir/run_time_value.h"

namespace lemma::runner {

struct Drawing;  // runner/drawing.h

/// The bodies of the nodes that were run, and whether each was run: a branch that is not taken computes nothing. The
/// keys are places, "If 'y', else_branch"; those of bodies in bodies follow their own after " / ".
using BodyCoverage = std::map<std::string, bool>;

struct RunOptions : interpreter::EvaluationOptions {
  /// Steps of one Loop, after which running ends with an error.
  std::int64_t step_limit = 10'000'000;
  /// Where bodies are recorded, if anywhere.
  BodyCoverage* coverage = nullptr;
  std::string place = {};  // of the graph, in these keys
  /// Where random numbers come from; null: what draws them cannot be run.
  Drawing* drawing = nullptr;
};

/// Values of the graph's outputs, in order. Inputs are in the order of the graph's, of the types that the graph states
/// (ImportOptions::shapes), and no declared type was relied upon (ImportOptions::trusts_declarations). Opaque nodes
/// are those of the envelope's file. `unsupported` names an operator that cannot be run.
Result<std::vector<RunTimeValue>> run_graph(const Graph& graph, const ModelEnvelope& envelope,
                                            std::span<const RunTimeValue> inputs,
                                            const RunOptions& options = {});

}  // namespace lemma::runner
