#include "frontend_onnx/weights_as_inputs.h"

#include <algorithm>

#include <onnx/onnx_pb.h>

#include "frontend_onnx/file_mapping.h"

namespace lemma {

namespace {

/// From this version on, an initializer that is declared as an input is one.
constexpr std::int64_t least_ir_version = 4;

TensorType type_of(const ::onnx::TensorProto& tensor) {
  Shape shape;
  for (const std::int64_t size : tensor.dims()) shape.emplace_back(size);
  return {static_cast<DataType>(tensor.data_type()), std::move(shape)};
}

std::set<std::string, std::less<>> statistics_of(const ::onnx::GraphProto& graph) {
  std::set<std::string, std::less<>> result;
  for (const auto& node : graph.node())
    if (node.op_type() == "BatchNormalization")
      for (int i = 3; i < node.input_size(); ++i) result.insert(node.input(i));
  return result;
}

void declare(const ::onnx::TensorProto& tensor, ::onnx::GraphProto& graph) {
  for (const auto& input : graph.input())
    if (input.name() == tensor.name()) return;
  auto& input = *graph.add_input();
  input.set_name(tensor.name());
  auto& type = *input.mutable_type()->mutable_tensor_type();
  type.set_elem_type(tensor.data_type());
  auto& shape = *type.mutable_shape();
  for (const std::int64_t size : tensor.dims()) shape.add_dim()->set_dim_value(size);
}

}  // namespace

Result<ModelWithWeights> import_with_weights(const std::filesystem::path& path,
                                             const IsWeight& is_weight,
                                             const ImportOptions& options) {
  auto file = frontend::FileMapping::open(path);
  if (!file) return with_context(path.string(), std::move(file.error()));
  const auto bytes = (*file)->bytes();
  ::onnx::ModelProto message;
  const google::protobuf::LogSilencer no_messages;
  if (bytes.size() > INT32_MAX ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !message.has_graph())
    return with_context(path.string(),
                        Error{ErrorKind::bad_input, "not an ONNX model of at most 2 GiB"});
  std::set<std::string, std::less<>> weights;
  ::onnx::GraphProto& graph = *message.mutable_graph();
  const std::set<std::string, std::less<>> statistics = statistics_of(graph);
  for (const auto& tensor : graph.initializer()) {
    const bool is_statistic = statistics.contains(tensor.name());
    if (tensor.name().empty() || !is_weight(tensor.name(), type_of(tensor), is_statistic)) continue;
    declare(tensor, graph);
    weights.insert(tensor.name());
  }
  // The others stay constants, whether they are declared or not.
  if (message.ir_version() < least_ir_version) {
    auto& inputs = *graph.mutable_input();
    std::set<std::string, std::less<>> initializers;
    for (const auto& tensor : graph.initializer()) initializers.insert(tensor.name());
    inputs.erase(std::remove_if(inputs.begin(), inputs.end(),
                                [&](const auto& input) {
                                  return initializers.contains(input.name()) &&
                                         !weights.contains(input.name());
                                }),
                 inputs.end());
    message.set_ir_version(least_ir_version);
  }
  const auto changed = std::make_shared<const std::string>(message.SerializeAsString());
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  auto model = import_model(changed, std::as_bytes(std::span(*changed)), folder, options);
  if (!model) return with_context(path.string(), std::move(model.error()));
  return ModelWithWeights{std::move(*model), std::move(weights)};
}

}  // namespace lemma
