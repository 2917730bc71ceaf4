#include "frontend_onnx/kept_parts.h"

#include <algorithm>

#include <onnx/onnx_pb.h>

#include "frontend_onnx/subgraphs.h"

namespace lemma::frontend {

void keep_annotations(const ModelEnvelope::Data& envelope, const ValueNames& names,
                      ::onnx::GraphProto& graph) {
  for (const std::string& serialized : envelope.quantization_annotations) {
    ::onnx::TensorAnnotation annotation;
    annotation.ParseFromString(serialized);
    const auto& parameters = annotation.quant_parameter_tensor_names();
    if (names.is_taken(annotation.tensor_name()) &&
        std::ranges::all_of(
            parameters, [&](const auto& parameter) { return names.is_taken(parameter.value()); }))
      *graph.add_quantization_annotation() = std::move(annotation);
  }
}

bool keeps_training(const Graph& graph, const std::vector<NodeId>& live,
                    const ModelEnvelope::Data& envelope, const ValueNames& names) {
  const bool has_all_weights = std::ranges::all_of(live, [&](NodeId id) {
    const Node& node = graph.node(id);
    return node.kind != NodeKind::constant || !is_real(graph.type(node.output()).data_type) ||
           envelope.initializers.contains(names.of(node.output()));
  });
  if (!has_all_weights) return false;
  for (const std::string& serialized : envelope.training) {
    ::onnx::TrainingInfoProto training;
    if (!training.ParseFromString(serialized)) return false;
    for (const auto* bindings : {&training.initialization_binding(), &training.update_binding()})
      for (const auto& binding : *bindings)
        if (!names.is_taken(binding.key())) return false;
    ::onnx::NodeProto algorithm;  // captures what the algorithm takes from the model
    *algorithm.add_attribute()->mutable_g() = training.algorithm();
    for (const std::string& name : captured_names(algorithm))
      if (!names.is_taken(name)) return false;
  }
  return true;
}

void repeat_outputs(const std::vector<std::string>& order, ::onnx::GraphProto& graph) {
  ::onnx::GraphProto ordered;
  for (const std::string& name : order)
    for (const auto& output : graph.output())
      if (output.name() == name) {
        *ordered.add_output() = output;
        break;
      }
  if (ordered.output_size() == static_cast<int>(order.size()) && ordered.output_size() > 0)
    graph.mutable_output()->Swap(ordered.mutable_output());
}

}  // namespace lemma::frontend
