#pragma once
// Values of any kind in files of their own, as ONNX test data has them: one TensorProto, SequenceProto or
// OptionalProto each. Which one it is the type in the model says.

#include <filesystem>
#include <string>

#include "frontend_onnx/messages.h"
#include "frontend_onnx/model.h"
#include "ir/run_time_value.h"

namespace lemma {

/// A file that holds a value of an input or output of the model. Errors name the file.
Result<RunTimeValue> read_value_file(const std::filesystem::path& file, const ModelEnvelope& model,
                                     const std::string& name);

/// Whether the model declares an input or output of that name as a sequence or an optional value.
bool is_declared_as_container(const ModelEnvelope& model, const std::string& name);

/// The contents of such a file; `unsupported` for what is no tensor.
Result<std::string> serialize_value(std::string_view name, const RunTimeValue& value);

namespace frontend {

/// The contents of a tensor of strings.
Strings strings_from(const ::onnx::TensorProto& tensor);

}  // namespace frontend
}  // namespace lemma
