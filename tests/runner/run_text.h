#pragma once
// Running models that are written in ONNX's textual form.

#include <string>
#include <vector>

#include "runner/run_graph.h"

namespace lemma::runner {

/// Inputs are in the order of the model's; sizes are taken from them.
Result<std::vector<RunTimeValue>> run_text(const std::string& text,
                                           const std::vector<RunTimeValue>& inputs,
                                           const RunOptions& options = {});

RunTimeValue floats(const std::vector<std::int64_t>& sizes, const std::vector<float>& elements);
RunTimeValue integers(const std::vector<std::int64_t>& sizes,
                      const std::vector<std::int64_t>& elements);
RunTimeValue boolean(bool value);

/// "f32[2] 1 2", "string[1] 'a'", "(f32[1] 1; f32[1] 2)", "nothing", or "error: ...".
std::string shown(const RunTimeValue& value);
std::string shown(const Result<std::vector<RunTimeValue>>& values);

}  // namespace lemma::runner
