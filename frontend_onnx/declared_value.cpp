#include "frontend_onnx/declared_value.h"

#include <onnx/onnx_pb.h>

#include <set>

#include "frontend_onnx/declared_types.h"
#include "frontend_onnx/envelope.h"
#include "frontend_onnx/subgraphs.h"

namespace lemma {

namespace {

// NOLINTNEXTLINE(misc-no-recursion): types are nested as deeply as files can say.
DeclaredValue described(const ::onnx::TypeProto& type, frontend::SizeSymbols& symbols) {
  using enum DeclaredValue::Kind;
  DeclaredValue value;
  if (type.has_sequence_type() || type.has_optional_type()) {
    value.kind = type.has_sequence_type() ? sequence : optional;
    const ::onnx::TypeProto& inner = type.has_sequence_type() ? type.sequence_type().elem_type()
                                                              : type.optional_type().elem_type();
    value.element.push_back(described(inner, symbols));
    if (value.element.front().kind == other) value = {};
  } else if (type.has_tensor_type()) {
    ::onnx::ValueInfoProto alone;
    *alone.mutable_type() = type;
    if (auto known = frontend::declared_type(alone, symbols)) {
      value.kind = tensor;
      value.tensor = std::move(*known);
    }
  }
  return value;
}

void take_texts(const ::onnx::AttributeProto& attribute, std::set<std::string>& texts) {
  if (attribute.has_s()) texts.insert(attribute.s());
  texts.insert(attribute.strings().begin(), attribute.strings().end());
  if (attribute.has_t())
    texts.insert(attribute.t().string_data().begin(), attribute.t().string_data().end());
}

}  // namespace

DeclaredValue declared_value(const ModelEnvelope& model, const std::string& name) {
  const auto& declarations = model.data().declarations;
  const auto entry = declarations.find(name);
  ::onnx::ValueInfoProto value;
  if (entry == declarations.end() || !value.ParseFromString(entry->second)) return {};
  frontend::SizeSymbols symbols;
  return described(value.type(), symbols);
}

std::vector<std::string> texts_of(const OnnxModel& model, std::size_t most) {
  std::set<std::string> texts;
  for (const NodeId id : model.graph.live_nodes()) {
    const Node& node = model.graph.node(id);
    if (node.kind != NodeKind::opaque) continue;
    ::onnx::NodeProto message;
    if (!message.ParseFromString(model.graph.opaque(node).payload)) continue;
    frontend::for_each_node(message, [&texts](const ::onnx::NodeProto& inner) {
      for (const auto& attribute : inner.attribute()) take_texts(attribute, texts);
    });
  }
  std::vector<std::string> result(texts.begin(), texts.end());
  if (result.size() > most) result.resize(most);
  return result;
}

}  // namespace lemma
