#include "frontend_onnx/body_types.h"

#include <optional>

#include <onnx/onnx_pb.h>

namespace lemma::frontend {

namespace {

using ValueInfo = ::onnx::ValueInfoProto;
using GraphMessage = ::onnx::GraphProto;

const GraphMessage* body_named(const ::onnx::NodeProto& node, std::string_view name) {
  for (const auto& attribute : node.attribute())
    if (attribute.name() == name && attribute.has_g()) return &attribute.g();
  return nullptr;
}

/// An element type and sizes; nothing stands for a size that is not fixed.
struct Declared {
  DataType element = DataType::undefined;
  std::vector<std::optional<std::int64_t>> sizes;
};

std::optional<Declared> declared(const ValueInfo& value) {
  if (!value.type().has_tensor_type() || !value.type().tensor_type().has_shape())
    return std::nullopt;
  const auto& tensor = value.type().tensor_type();
  if (tensor.elem_type() <= 0 || tensor.elem_type() >= data_type_count) return std::nullopt;
  Declared result{static_cast<DataType>(tensor.elem_type()), {}};
  for (const auto& size : tensor.shape().dim())
    result.sizes.push_back(size.has_dim_value() && size.dim_value() >= 0
                               ? std::optional<std::int64_t>(size.dim_value())
                               : std::nullopt);
  return result;
}

Declared of_type(const TensorType& type) {
  Declared result{type.data_type, {}};
  for (const Dimension& size : *type.shape)
    result.sizes.push_back(size.is_constant() ? std::optional<std::int64_t>(size.offset())
                                              : std::nullopt);
  return result;
}

/// What is either of both; nothing if their ranks or elements differ.
std::optional<Declared> either(const std::optional<Declared>& first,
                               const std::optional<Declared>& second) {
  if (!first || !second || first->element != second->element ||
      first->sizes.size() != second->sizes.size())
    return std::nullopt;
  Declared result = *first;
  for (std::size_t axis = 0; axis < result.sizes.size(); ++axis)
    if (first->sizes[axis] != second->sizes[axis]) result.sizes[axis] = std::nullopt;
  return result;
}

TensorType type_of(const std::optional<Declared>& declared, std::size_t output,
                   const UnknownSize& unknown) {
  if (!declared || !is_computable(declared->element)) return {};
  TensorType type{declared->element, Shape()};
  for (std::size_t axis = 0; axis < declared->sizes.size(); ++axis)
    type.shape->push_back(declared->sizes[axis] ? Dimension(*declared->sizes[axis])
                                                : unknown(output, axis));
  return type;
}

std::optional<Declared> of_branches(const ::onnx::NodeProto& node, int output) {
  const GraphMessage *first = body_named(node, "then_branch"),
                     *second = body_named(node, "else_branch");
  if (first == nullptr || second == nullptr || output >= first->output_size() ||
      output >= second->output_size())
    return std::nullopt;
  return either(declared(first->output(output)), declared(second->output(output)));
}

/// The state is what it was at first where there is no step. What is collected has one more axis, of the steps.
std::optional<Declared> of_loop(const ::onnx::NodeProto& node,
                                const std::vector<TensorType>& operands, int output) {
  const GraphMessage* body = body_named(node, "body");
  if (body == nullptr || output + 1 >= body->output_size()) return std::nullopt;
  auto given = declared(body->output(output + 1));
  const auto state = static_cast<std::size_t>(output) + 2;
  const auto states = static_cast<std::size_t>(node.input_size());
  if (state < states) {
    if (state >= operands.size() || !operands[state].is_known()) return std::nullopt;
    return either(given, of_type(operands[state]));
  }
  if (given) given->sizes.insert(given->sizes.begin(), std::nullopt);
  return given;
}

}  // namespace

std::vector<TensorType> body_types(const ::onnx::NodeProto& node,
                                   const std::vector<TensorType>& operands,
                                   const UnknownSize& unknown) {
  std::vector<TensorType> types(static_cast<std::size_t>(node.output_size()));
  const bool is_if = node.op_type() == "If", is_loop = node.op_type() == "Loop";
  if (!node.domain().empty() || !(is_if || is_loop)) return types;
  for (int k = 0; k < node.output_size(); ++k)
    types[static_cast<std::size_t>(k)] =
        type_of(is_if ? of_branches(node, k) : of_loop(node, operands, k),
                static_cast<std::size_t>(k), unknown);
  return types;
}

}  // namespace lemma::frontend
