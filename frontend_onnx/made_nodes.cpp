#include "frontend_onnx/made_nodes.h"

#include <onnx/onnx_pb.h>

namespace lemma::frontend {

namespace {

using NodeMessage = ::onnx::NodeProto;

constexpr int axes_are_an_input_since = 13;  // of Unsqueeze; and the sizes of Split

NodeMessage node_of(const char* op, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs) {
  NodeMessage node;
  node.set_op_type(op);
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  return node;
}

void set_axis(NodeMessage& node, std::int64_t axis) {
  auto& attribute = *node.add_attribute();
  attribute.set_name("axis");
  attribute.set_type(::onnx::AttributeProto::INT);
  attribute.set_i(axis);
}

void set_integers(NodeMessage& node, const char* name, const std::vector<std::int64_t>& values) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(::onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
}

}  // namespace

bool NodeMaker::add(const NodeMessage& node) {
  for (const std::string& output : node.output()) builder_.mark_used(output);
  return builder_.add_node({&node, 0, ""}).has_value();
}

bool NodeMaker::add_integer(const std::string& name, std::int64_t value) {
  ::onnx::TensorProto tensor;
  tensor.set_data_type(::onnx::TensorProto::INT64);
  tensor.add_int64_data(value);
  return builder_.add_tensor(name, tensor).has_value();
}

bool NodeMaker::add_integers(const std::string& name, const std::vector<std::int64_t>& values) {
  ::onnx::TensorProto tensor;
  tensor.set_data_type(::onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<std::int64_t>(values.size()));
  for (const std::int64_t value : values) tensor.add_int64_data(value);
  return builder_.add_tensor(name, tensor).has_value();
}

bool NodeMaker::add_boolean(const std::string& name, bool value) {
  ::onnx::TensorProto tensor;
  tensor.set_data_type(::onnx::TensorProto::BOOL);
  tensor.add_int32_data(value ? 1 : 0);
  return builder_.add_tensor(name, tensor).has_value();
}

bool NodeMaker::add_real(const std::string& name, double value, DataType type) {
  ::onnx::TensorProto tensor;
  tensor.set_data_type(static_cast<int>(type));
  if (type == DataType::f32)
    tensor.add_float_data(static_cast<float>(value));
  else if (type == DataType::f64)
    tensor.add_double_data(value);
  else
    return false;
  return builder_.add_tensor(name, tensor).has_value();
}

bool NodeMaker::add(const std::string& op, const std::vector<std::string>& inputs,
                    const std::string& output, const std::vector<Attribute>& attributes) {
  NodeMessage node = node_of(op.c_str(), inputs, {output});
  for (const Attribute& given : attributes) {
    if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&given.value)) {
      set_integers(node, given.name.c_str(), *integers);
      continue;
    }
    auto& attribute = *node.add_attribute();
    attribute.set_name(given.name);
    const auto* integer = std::get_if<std::int64_t>(&given.value);
    attribute.set_type(integer != nullptr ? ::onnx::AttributeProto::INT
                                          : ::onnx::AttributeProto::FLOAT);
    if (integer != nullptr)
      attribute.set_i(*integer);
    else
      attribute.set_f(std::get<float>(given.value));
  }
  return add(node);
}

bool NodeMaker::gather(const std::string& input, std::int64_t position, std::int64_t axis,
                       const std::string& output) {
  const std::string index = builder_.fresh_name(output + "/index");
  NodeMessage node = node_of("Gather", {input, index}, {output});
  set_axis(node, axis);
  return add_integer(index, position) && add(node);
}

bool NodeMaker::unsqueeze(const std::string& input, std::int64_t axis, const std::string& output) {
  if (operator_set_ >= axes_are_an_input_since) {
    const std::string axes = builder_.fresh_name(output + "/axes");
    return add_integers(axes, {axis}) && add(node_of("Unsqueeze", {input, axes}, {output}));
  }
  NodeMessage node = node_of("Unsqueeze", {input}, {output});
  set_integers(node, "axes", {axis});
  return add(node);
}

bool NodeMaker::concat(const std::vector<std::string>& inputs, std::int64_t axis,
                       const std::string& output) {
  NodeMessage node = node_of("Concat", inputs, {output});
  set_axis(node, axis);
  return add(node);
}

bool NodeMaker::split(const std::string& input, const std::vector<std::int64_t>& sizes,
                      std::int64_t axis, const std::vector<std::string>& outputs) {
  NodeMessage node = node_of("Split", {input}, outputs);
  set_axis(node, axis);
  if (operator_set_ < axes_are_an_input_since) {
    set_integers(node, "split", sizes);
    return add(node);
  }
  const std::string parts = builder_.fresh_name(outputs.front() + "/sizes");
  node.add_input(parts);
  return add_integers(parts, sizes) && add(node);
}

}  // namespace lemma::frontend
