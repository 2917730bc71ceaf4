#include "frontend_onnx/moved_initializers.h"

#include <set>
#include <string>
#include <utility>

#include <absl/container/flat_hash_map.h>
#include <onnx/onnx_pb.h>

#include "frontend_onnx/subgraphs.h"

namespace lemma::frontend {

namespace {

using GraphMessage = ::onnx::GraphProto;

/// Names that the graph uses or promises outside of bodies.
std::set<std::string> names_outside(const GraphMessage& graph) {
  std::set<std::string> names;
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const auto& output : graph.output()) names.insert(output.name());
  for (const auto& node : graph.node()) names.insert(node.input().begin(), node.input().end());
  for (const auto& annotation : graph.quantization_annotation()) {
    names.insert(annotation.tensor_name());
    for (const auto& parameter : annotation.quant_parameter_tensor_names())
      names.insert(parameter.value());
  }
  return names;
}

/// The body that captures each name, or null where several do.
absl::flat_hash_map<std::string, GraphMessage*> capturing_bodies(GraphMessage& graph) {
  absl::flat_hash_map<std::string, GraphMessage*> bodies;
  const auto add = [&bodies](GraphMessage& body) {
    for (const std::string& name : captured_names(body)) {
      const auto [known, is_new] = bodies.emplace(name, &body);
      if (!is_new) known->second = nullptr;
    }
  };
  for (auto& node : *graph.mutable_node())
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) add(*attribute.mutable_g());
      for (GraphMessage& body : *attribute.mutable_graphs()) add(body);
    }
  return bodies;
}

}  // namespace

std::size_t move_initializers_into_bodies(::onnx::ModelProto& model) {
  constexpr std::int64_t first_without_inputs = 4;
  if (model.ir_version() < first_without_inputs) return 0;
  GraphMessage& graph = *model.mutable_graph();
  const std::set<std::string> outside = names_outside(graph);
  const auto bodies = capturing_bodies(graph);
  std::set<std::string> moved;
  GraphMessage kept;
  for (auto& tensor : *graph.mutable_initializer()) {
    const auto body = bodies.find(tensor.name());
    const bool moves = body != bodies.end() && body->second != nullptr &&
                       !outside.contains(tensor.name()) &&
                       tensor.data_location() != ::onnx::TensorProto::EXTERNAL;
    if (moves) moved.insert(tensor.name());
    *(moves ? body->second : &kept)->add_initializer() = std::move(tensor);
  }
  graph.mutable_initializer()->Swap(kept.mutable_initializer());
  // What is said of their types is said by the tensors.
  for (auto& value : *graph.mutable_value_info())
    if (!moved.contains(value.name())) *kept.add_value_info() = std::move(value);
  graph.mutable_value_info()->Swap(kept.mutable_value_info());
  return moved.size();
}

}  // namespace lemma::frontend
