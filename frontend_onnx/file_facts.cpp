#include "frontend_onnx/file_facts.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "base/sha256.h"
#include "frontend_onnx/envelope.h"
#include "frontend_onnx/node_meaning.h"

namespace lemma {

namespace {

/// What a serialized tensor holds: its type and a digest of its elements.
std::string contents_of(const std::string& tensor, const frontend::TensorSource& source) {
  ::onnx::TensorProto message;
  if (!message.ParseFromString(tensor)) return "unreadable";
  if (const auto constant = frontend::constant_from(message, source))
    return fmt::format("{} {:016x}", text(constant->type()), constant->digest());
  message.clear_name();
  message.clear_doc_string();
  return fmt::format("elements of type {}, {}", message.data_type(),
                     sha256(message.SerializeAsString()).substr(0, 16));
}

std::map<std::string, std::string> defaults_of(const OnnxModel& model) {
  const ModelEnvelope::Data& data = model.envelope.data();
  std::map<std::string, std::string> result;
  for (const auto& [name, tensor] : data.overridable)
    result.emplace(name, contents_of(tensor, *data.source));
  return result;
}

}  // namespace

std::optional<std::string> input_with_other_default(const OnnxModel& model,
                                                    const OnnxModel& other) {
  const auto defaults = defaults_of(model), others = defaults_of(other);
  for (const auto& [name, contents] : defaults) {
    const auto entry = others.find(name);
    if (entry == others.end() || entry->second != contents) return name;
  }
  for (const auto& [name, contents] : others)
    if (!defaults.contains(name)) return name;
  return std::nullopt;
}

std::map<std::string, std::string> file_facts(const OnnxModel& model) {
  const ModelEnvelope::Data& data = model.envelope.data();
  std::map<std::string, std::string> facts;
  const auto add = [&facts](const std::string& what, const std::string& value) {
    if (!value.empty()) facts[what] = value;
  };
  add("IR version", fmt::format("{}", data.ir_version));
  for (const auto& [domain, version] : data.operator_sets)
    add("operator set " + (domain.empty() ? "ai.onnx" : domain), fmt::format("{}", version));
  add("graph name", model.graph.name());
  ::onnx::ModelProto header;
  if (!header.ParseFromString(data.header)) return facts;
  add("producer", header.producer_name());
  add("producer version", header.producer_version());
  add("domain", header.domain());
  add("documentation", header.doc_string());
  add("documentation of the graph", header.graph().doc_string());
  if (header.model_version() != 0) add("model version", fmt::format("{}", header.model_version()));
  for (const auto& entry : header.metadata_props()) add("metadata " + entry.key(), entry.value());
  for (const auto& [key, function] : data.functions) {
    const auto digest = frontend::meaning_of_function(function, *data.source);
    add("function " + key, digest ? digest->substr(0, 16) : "unreadable");
  }
  for (const auto& [name, contents] : defaults_of(model)) add("default of input " + name, contents);
  std::string annotations;
  for (const std::string& annotation : data.quantization_annotations) annotations += annotation;
  if (!annotations.empty())
    add("quantization annotations", fmt::format("{}, {}", data.quantization_annotations.size(),
                                                sha256(annotations).substr(0, 16)));
  if (!data.training.empty())
    add("training information",
        fmt::format("{} entries, {}", data.training.size(),
                    sha256(fmt::format("{}", fmt::join(data.training, "\n"))).substr(0, 16)));
  return facts;
}

}  // namespace lemma
