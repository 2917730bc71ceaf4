#pragma once
// What a model file says beside its graph, for people.

#include <map>
#include <optional>
#include <string>

#include "frontend_onnx/model.h"

namespace lemma {

/// Facts of the file by what they are: "IR version", "operator set ai.onnx", "producer", "metadata KEY",
/// "function DOMAIN.NAME", ...
std::map<std::string, std::string> file_facts(const OnnxModel& model);

/// An input that takes another value in the two files where none is given for it: its initializers differ, or one file has
/// none.
std::optional<std::string> input_with_other_default(const OnnxModel& model, const OnnxModel& other);

}  // namespace lemma
