#pragma once
// What a model file says beside its graph, for people.

#include <map>
#include <string>

#include "frontend_onnx/model.h"

namespace lemma {

/// By what it is: "IR version", "operator set ai.onnx", "producer", "metadata KEY", "function DOMAIN.NAME", ...
std::map<std::string, std::string> file_facts(const OnnxModel& model);

}  // namespace lemma
