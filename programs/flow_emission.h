#pragma once
// Models with control flow as task programs.

#include <cstdint>
#include <map>
#include <string>

#include "backend/compile/compile.h"
#include "backend/flow_program.h"
#include "base/result.h"
#include "frontend_onnx/model.h"

namespace lemma {

/// The rows that there is room for where a loop makes as many as it takes steps, unless something else is asked for.
inline constexpr std::int64_t usual_most_rows = 1024;

/// A model as programs are made of it: initializers are constants, and branches of known conditions are taken. Without
/// `trusts_declarations`, what the file declares of values behind bodies is not relied upon.
Result<OnnxModel> read_program_model(const std::string& file,
                                     const std::map<std::string, Shape, std::less<>>& shapes,
                                     bool trusts_declarations = true);

/// A proved program of a model that was read without trusting declarations. Errors name the node that has none.
Result<backend::FlowProgram> compile_flow(const OnnxModel& model,
                                          const backend::CompileOptions& options,
                                          std::int64_t most_rows);

}  // namespace lemma
