#include "frontend_onnx/file_facts.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "frontend_onnx/envelope.h"

namespace lemma {

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
  for (const auto& [key, function] : data.functions)
    add("function " + key, fmt::format("{} bytes", function.size()));
  if (!data.training.empty())
    add("training information", fmt::format("{} entries", data.training.size()));
  return facts;
}

}  // namespace lemma
