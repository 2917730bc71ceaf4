#include "ir/graph.h"

#include <absl/hash/hash.h>
#include <fmt/format.h>

namespace lemma {

NodeId Graph::append(Node node, std::vector<TensorType> types) {
  constexpr std::size_t first_room = 16;  // graphs of a few nodes are made by the thousand
  if (nodes_.empty()) {
    nodes_.reserve(first_room);
    values_.reserve(first_room);
  }
  const NodeId id{static_cast<std::uint32_t>(nodes_.size())};
  node.first_output = static_cast<std::uint32_t>(values_.size());
  node.output_count = static_cast<std::uint32_t>(types.size());
  for (TensorType& type : types) values_.push_back({id, std::move(type)});
  nodes_.push_back(std::move(node));
  return id;
}

Result<ValueId> Graph::add_input(std::string name, TensorType type) {
  if (type.shape && !has_sizes(*type.shape))
    return bad_input(fmt::format("graph input '{}' cannot have the type {}", name, text(type)));
  if (!taken_input_names_.insert(name).second)
    return bad_input(fmt::format("two graph inputs are named '{}'", name));
  Node node;
  node.kind = NodeKind::input;
  node.payload = static_cast<std::uint32_t>(input_names_.size());
  input_names_.push_back(name);
  const NodeId id = append(std::move(node), {std::move(type)});
  inputs_.push_back(id);
  suggest_name(nodes_[id.v].output(), std::move(name));
  return nodes_[id.v].output();
}

ValueId Graph::add_constant(Constant constant) {
  auto& bucket = interned_[absl::HashOf(1, constant.hash())];
  for (const NodeId id : bucket) {
    const Node& node = nodes_[id.v];
    if (node.kind == NodeKind::constant && constants_[node.payload] == constant)
      return node.output();
  }
  Node node;
  node.kind = NodeKind::constant;
  node.payload = static_cast<std::uint32_t>(constants_.size());
  TensorType type = constant.type();
  constants_.push_back(std::move(constant));
  const NodeId id = append(std::move(node), {std::move(type)});
  bucket.push_back(id);
  return nodes_[id.v].output();
}

std::size_t Graph::hash_of(const Node& node) const {
  return absl::HashOf(2, node.op, node.inputs, node.attributes.hash(), node.output_count);
}

std::optional<NodeId> Graph::find_operation(const Node& node, std::size_t hash) const {
  const auto bucket = interned_.find(hash);
  if (bucket == interned_.end()) return std::nullopt;
  for (const NodeId id : bucket->second) {
    const Node& other = nodes_[id.v];
    if (other.kind == NodeKind::operation && other.op == node.op && other.inputs == node.inputs &&
        other.output_count == node.output_count && other.attributes == node.attributes)
      return id;
  }
  return std::nullopt;
}

Result<NodeId> Graph::add_operation(OperatorId op, std::vector<ValueId> inputs,
                                    Attributes attributes, std::size_t output_count) {
  const OperatorRecord& operator_record = record(op);
  while (!inputs.empty() && inputs.back().is_none()) inputs.pop_back();
  Node node;
  node.op = op;
  node.inputs = std::move(inputs);
  const std::vector<TensorType> types = input_types(node);
  // To a record an undefined type means an absent input; here it would be one that is ignored.
  for (std::size_t i = 0; i < types.size(); ++i)
    if (!node.inputs[i].is_none() && types[i].data_type == DataType::undefined)
      return unsupported(fmt::format("{}: input {} has no known type", operator_record.name, i));
  node.attributes = std::move(attributes);
  node.output_count = static_cast<std::uint32_t>(output_count);
  // Attributes of a node are complete, and completing them again changes nothing.
  if (const auto known = find_operation(node, hash_of(node))) return *known;
  auto completed =
      complete_attributes(operator_record, types, std::move(node.attributes), output_count);
  if (!completed) return with_context(operator_record.name, std::move(completed.error()));
  node.attributes = std::move(*completed);
  const std::size_t hash = hash_of(node);
  if (const auto known = find_operation(node, hash)) return *known;
  auto outputs = infer_types(operator_record, {types, node.attributes, output_count});
  if (!outputs) return with_context(operator_record.name, std::move(outputs.error()));
  const NodeId id = append(std::move(node), std::move(*outputs));
  interned_[hash].push_back(id);
  return id;
}

Result<ValueId> Graph::add(std::string_view op, std::vector<ValueId> inputs,
                           Attributes attributes) {
  LEMMA_ASSIGN_OR_RETURN(
      const NodeId id, add_operation(operator_named(op), std::move(inputs), std::move(attributes)));
  return nodes_[id.v].output();
}

NodeId Graph::add_opaque(OpaqueOperator op, std::vector<ValueId> inputs,
                         std::vector<TensorType> output_types) {
  Node node;
  node.kind = NodeKind::opaque;
  node.payload = static_cast<std::uint32_t>(opaques_.size());
  node.inputs = std::move(inputs);
  opaques_.push_back(std::move(op));
  return append(std::move(node), std::move(output_types));
}

void Graph::label_opaque(NodeId id, std::string label) {
  opaques_[node(id).payload].label = std::move(label);
}

Result<void> Graph::add_output(std::string name, ValueId value) {
  if (!taken_output_names_.insert(name).second)
    return bad_input(fmt::format("two graph outputs are named '{}'", name));
  outputs_.push_back({std::move(name), value});
  return {};
}

void Graph::suggest_name(ValueId value, std::string name) {
  if (!name.empty()) names_.try_emplace(value.v, std::move(name));
}

const std::string& Graph::suggested_name(ValueId id) const {
  static const std::string none;
  auto entry = names_.find(id.v);
  return entry != names_.end() ? entry->second : none;
}

const Constant* Graph::constant_of(ValueId id) const {
  if (id.is_none()) return nullptr;
  const Node& node = nodes_[producer(id).v];
  return node.kind == NodeKind::constant ? &constants_[node.payload] : nullptr;
}

std::vector<TensorType> Graph::input_types(const Node& node) const {
  std::vector<TensorType> types;
  types.reserve(node.inputs.size());
  for (const ValueId input : node.inputs)
    types.push_back(input.is_none() ? TensorType{} : type(input));
  return types;
}

std::vector<TensorType> Graph::output_types(const Node& node) const {
  std::vector<TensorType> types;
  for (std::uint32_t i = 0; i < node.output_count; ++i) types.push_back(type(node.output(i)));
  return types;
}

std::vector<NodeId> Graph::live_nodes() const {
  std::vector<char> live(nodes_.size(), 0);
  for (const NodeId id : inputs_) live[id.v] = 1;
  for (const GraphOutput& output : outputs_) live[producer(output.value).v] = 1;
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    if (live[i] == 0) continue;
    for (const ValueId input : nodes_[i].inputs)
      if (!input.is_none()) live[producer(input).v] = 1;
  }
  std::vector<NodeId> result;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    if (live[i] != 0) result.push_back({i});
  return result;
}

}  // namespace lemma
