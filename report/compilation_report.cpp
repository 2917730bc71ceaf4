#include "report/compilation_report.h"

#include <fmt/format.h>

#include "report/printable.h"

namespace lemma {

namespace {

using Json = nlohmann::ordered_json;

/// A size that is not fixed is a text, and the sizes of a value whose rank is unknown are null.
Json type_json(const NamedType& named) {
  Json sizes = nullptr;
  if (named.type.shape) {
    sizes = Json::array();
    for (const Dimension& size : *named.type.shape)
      sizes.push_back(size.is_constant() ? Json(*size.constant()) : Json(text(size)));
  }
  return {{"name", named.name}, {"type", name(named.type.data_type)}, {"sizes", std::move(sizes)}};
}

Json types_json(const std::vector<NamedType>& types) {
  Json json = Json::array();
  for (const NamedType& named : types) json.push_back(type_json(named));
  return json;
}

Json part_json(const CompiledPart& part) {
  Json json = {{"runs_in", part.is_program ? "program" : "onnxruntime"}};
  if (part.is_program) {
    json["library"] = part.library.string();
    json["weights"] = part.weights.string();
    json["units"] = part.units;
  } else {
    json["model"] = part.model.string();
  }
  json["operators"] = part.operators;
  json["inputs"] = types_json(part.inputs);
  json["outputs"] = types_json(part.outputs);
  return json;
}

}  // namespace

Json compilation_json(const CompilationRequest& request, const Compilation& compilation) {
  Json parts = Json::array(), outputs = Json::array();
  for (const CompiledPart& part : compilation.parts) parts.push_back(part_json(part));
  for (const Compilation::Output& output : compilation.outputs) {
    outputs.push_back(type_json(output.named));
    outputs.back()["value"] = output.value;
  }
  return {{"model", request.model},
          {"directory", request.directory.empty() ? Json(nullptr) : Json(request.directory)},
          {"files", compilation.files},
          {"open_sizes", compilation.has_open_sizes},
          {"inputs", types_json(compilation.inputs)},
          {"outputs", std::move(outputs)},
          {"parts", std::move(parts)},
          {"runtime_operators", compilation.runtime_operators},
          {"left_to_runtime", compilation.is_left_to_runtime},
          {"planning_seconds", compilation.planning_seconds},
          {"compiling_seconds", compilation.compiling_seconds}};
}

std::string compilation_text(const CompilationRequest& request, const Compilation& compilation) {
  if (compilation.has_open_sizes)
    return "nothing is compiled: sizes of inputs are not fixed; give --shape\n";
  std::string text;
  for (const CompiledPart& part : compilation.parts) {
    const std::string place = !part.is_program            ? part.model.string()
                              : request.directory.empty() ? part.library.string()
                                                          : request.directory;
    text +=
        printable(fmt::format("{}: {} operators {}", place, part.operators,
                              part.is_program ? fmt::format("on {} {}", part.units,
                                                            part.units == 1 ? "thread" : "threads")
                                              : std::string("in ONNX Runtime")));
    text += "\n";
  }
  return text + fmt::format("planned in {:.1f} s, compiled in {:.1f} s\n",
                            compilation.planning_seconds, compilation.compiling_seconds);
}

}  // namespace lemma
