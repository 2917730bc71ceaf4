#pragma once
// What a model with control flow gives by the interpreter.

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "check/rounding_spread.h"
#include "frontend_onnx/model.h"
#include "interpreter/run.h"

namespace lemma {

/// The outputs for inputs in the order of the model's. The model was read without trusting declarations.
Result<std::vector<interpreter::Tensor>> run_flow_model(
    const OnnxModel& model, std::span<const interpreter::NamedTensor> inputs,
    const interpreter::RunOptions& options);

/// What another way of computing the outputs may differ by: as output_allowances() measures it, but that constants within
/// bodies are left as they are. Outputs of other sizes, where a changed input makes a loop take other steps, say nothing.
std::vector<OutputAllowance> flow_allowances(const OnnxModel& model,
                                             std::span<const interpreter::NamedTensor> inputs,
                                             std::span<const interpreter::Tensor> outputs,
                                             const interpreter::RunOptions& options,
                                             std::uint64_t seed);

}  // namespace lemma
