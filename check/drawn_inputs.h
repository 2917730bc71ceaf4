#pragma once
// Inputs of any kind on which two models are compared: tensors of numbers and of texts, sequences, optional values.

#include <cstdint>
#include <string>
#include <vector>

#include "check/check_inputs.h"
#include "frontend_onnx/model.h"
#include "profiler/onnxruntime_worker.h"

namespace lemma {

/// Whether an input is something else than a tensor of numbers.
bool has_inputs_without_numbers(const Graph& graph);

/// Texts for inputs of two models: those that either holds, and others, the empty one among them.
std::vector<std::string> texts_to_try(const OnnxModel& original, const OnnxModel& other);

/// Sets of inputs of a model. Tensors of numbers follow the plan. From set to set, the others change: which texts they
/// hold (all of them occur, if 24 sets are enough for that), how many elements a sequence has (2, 3, 1, 0), and whether an
/// optional value is there. An error names an input that cannot be made.
Result<std::vector<NamedValues>> draw_inputs(const OnnxModel& model, const InputPlan& plan,
                                             const std::vector<std::string>& texts,
                                             std::int64_t element_limit);

}  // namespace lemma
