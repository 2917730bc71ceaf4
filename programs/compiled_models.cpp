#include "programs/compiled_models.h"

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "backend/execute/built_program.h"
#include "backend/execute/override_check.h"
#include "base/sha256.h"
#include "base/version.h"
#include "frontend_onnx/content_digest.h"
#include "ir/graph_text.h"
#include "outputs/files.h"
#include "system/processor.h"

namespace lemma {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string text_of(const CompilationRequest& request) {
  std::string all = fmt::format("{} {} {}\n", backend::thread_count(request.threads),
                                request.in_parts, request.most_rows);
  for (const auto& shapes : request.shapes) {
    for (const auto& [name, shape] : shapes)
      all += fmt::format("{} {}\n", sha256(name), text(TensorType{DataType::f32, shape}));
    all += "\n";
  }
  if (request.schedules)
    for (const auto& [key, schedule] : *request.schedules)
      all += fmt::format("{} {}\n", key, text(schedule));
  return all;
}

Json json_of(const NamedType& named) { return {named.name, text(named.type)}; }

Json json_of(const std::vector<NamedType>& types) {
  Json json = Json::array();
  for (const NamedType& named : types) json.push_back(json_of(named));
  return json;
}

/// Malformed text is thrown, as by the JSON library.
NamedType named_type(const Json& json) {
  auto type = parse_tensor_type(json.at(1).get<std::string>());
  if (!type) throw std::runtime_error(type.error().message);
  return {json.at(0), std::move(*type)};
}

std::vector<NamedType> named_types(const Json& json) {
  std::vector<NamedType> types;
  for (const Json& named : json) types.push_back(named_type(named));
  return types;
}

/// A file and the state that it is in.
Json kept_file(const fs::path& file) {
  return {file.string(), file.empty() ? "" : file_state(file)};
}

/// Thrown if the file is not as it was.
fs::path found_file(const Json& json) {
  fs::path file = json.at(0).get<std::string>();
  if (!file.empty() && file_state(file) != json.at(1)) throw std::runtime_error("has changed");
  return file;
}

Json json_of(const CompiledPart& part) {
  return {{"is_program", part.is_program},
          {"library", kept_file(part.library)},
          {"weights", kept_file(part.weights)},
          {"model", kept_file(part.model)},
          {"inputs", json_of(part.inputs)},
          {"outputs", json_of(part.outputs)},
          {"units", part.units},
          {"operators", part.operators}};
}

CompiledPart compiled_part(const Json& json) {
  CompiledPart part;
  part.is_program = json.at("is_program");
  part.library = found_file(json.at("library"));
  part.weights = found_file(json.at("weights"));
  part.model = found_file(json.at("model"));
  part.inputs = named_types(json.at("inputs"));
  part.outputs = named_types(json.at("outputs"));
  part.units = json.at("units");
  part.operators = json.at("operators");
  return part;
}

Json json_of(const Compilation& compilation) {
  Json parts = Json::array(), outputs = Json::array();
  for (const CompiledPart& part : compilation.parts) parts.push_back(json_of(part));
  for (const Compilation::Output& output : compilation.outputs)
    outputs.push_back({json_of(output.named), output.value});
  return {{"parts", std::move(parts)},
          {"has_open_sizes", compilation.has_open_sizes},
          {"inputs", json_of(compilation.inputs)},
          {"outputs", std::move(outputs)},
          {"runtime_operators", compilation.runtime_operators},
          {"is_left_to_runtime", compilation.is_left_to_runtime}};
}

Compilation compilation_of(const Json& json) {
  Compilation compilation;
  for (const Json& part : json.at("parts")) compilation.parts.push_back(compiled_part(part));
  compilation.has_open_sizes = json.at("has_open_sizes");
  compilation.inputs = named_types(json.at("inputs"));
  for (const Json& output : json.at("outputs"))
    compilation.outputs.push_back({named_type(output.at(0)), output.at(1)});
  compilation.runtime_operators = json.at("runtime_operators");
  compilation.is_left_to_runtime = json.at("is_left_to_runtime");
  return compilation;
}

}  // namespace

Result<CompiledModel> CompiledModel::of(const CompilationRequest& request, const fs::path& cache) {
  CompiledModel result;
  result.model_ = request.model;
  result.state_ = model_state(request.model);
  LEMMA_ASSIGN_OR_RETURN(const std::string digest, model_digest(request.model));
  LEMMA_ASSIGN_OR_RETURN(const auto builder, backend::ProgramBuilder::create(cache));
  // What one version of this program plans is not what another plans.
  const std::string key =
      fmt::format("{} {}{}\n{} {}\n{}\n{}", version(), file_state("/proc/self/exe"),
                  backend::outside_kernels_digest(), builder.identity(), processor_digest(), digest,
                  text_of(request));
  result.file_ = cache / "compiled_models" / (sha256(key).substr(0, 32) + ".json");
  return result;
}

std::optional<Compilation> CompiledModel::find() const {
  std::ifstream file(file_, std::ios::binary);
  const std::string contents{std::istreambuf_iterator<char>(file), {}};
  // "<digest> <JSON>", so that a damaged entry is none.
  const std::size_t space = contents.find(' ');
  if (space == std::string::npos) return std::nullopt;
  if (sha256(contents.substr(space + 1)) != contents.substr(0, space)) return std::nullopt;
  try {
    return compilation_of(Json::parse(contents.substr(space + 1)));
  } catch (const std::exception&) {  // a file that it names is not as it was
    return std::nullopt;
  }
}

Result<void> CompiledModel::keep(const Compilation& compilation) const {
  if (state_.empty() || model_state(model_) != state_) return {};
  LEMMA_RETURN_IF_ERROR(make_folder(file_.parent_path()));
  std::string contents;
  try {
    contents = json_of(compilation).dump();
  } catch (const Json::type_error&) {  // a name that is no UTF-8
    return {};
  }
  return write_file_atomically(file_, fmt::format("{} {}", sha256(contents), contents));
}

}  // namespace lemma
