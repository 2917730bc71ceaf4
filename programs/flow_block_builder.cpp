#include "programs/flow_block_builder.h"

#include <algorithm>

#include <fmt/format.h>

#include "interpreter/constant_operation.h"
#include "ir/rebuild.h"
#include "programs/flow_node_builder.h"

namespace lemma {

using backend::FlowTensorNumber;

namespace {

/// Larger results of constants are left to the segments, which fold them.
constexpr std::size_t most_folded_bytes = std::size_t{1} << 16U;
/// Larger contents are no parameters of operators (shapes, axes, bounds).
constexpr std::size_t largest_parameter = 4096;

bool is_fixed(const TensorType& type) {
  return type.is_known() && constant_sizes(*type.shape).has_value();
}

/// The level of a segment that reads a value.
std::uint32_t reading_level(const FlowValue& value) { return value.level + (value.level % 2); }

Result<std::vector<FlowValue>> folded(const Node& node, const std::vector<FlowValue>& operands) {
  std::vector<const Constant*> constants;
  for (const FlowValue& operand : operands)
    constants.push_back(operand.constant ? &*operand.constant : nullptr);
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Constant> results,
                         interpreter::evaluate_on_constants(node, constants));
  std::vector<FlowValue> values;
  for (const Constant& result : results) {
    if (result.bytes().size() > most_folded_bytes) return unsupported("it is too large");
    values.push_back(FlowValue::of(result));
  }
  return values;
}

}  // namespace

FlowTensorNumber FlowParts::add_tensor(std::string name, const TensorType& type) {
  backend::FlowTensor& added = result.blocks.tensors.emplace_back();
  added.name = std::move(name);
  added.type = type.data_type;
  added.sizes = *constant_sizes(*type.shape);
  return static_cast<FlowTensorNumber>(result.blocks.tensors.size() - 1);
}

FlowValue FlowValue::of(Constant constant, std::string name) {
  FlowValue value;
  value.type = constant.type();
  value.constant = std::move(constant);
  value.name = std::move(name);
  return value;
}

FlowValue FlowValue::of(const FlowParts& parts, FlowTensorNumber tensor, std::uint32_t level) {
  const backend::FlowTensor& known = parts.tensor(tensor);
  FlowValue value;
  value.tensor = tensor;
  value.level = level;
  value.type = {known.type, Shape(known.sizes.begin(), known.sizes.end())};
  value.name = known.name;
  return value;
}

std::string node_text(const Graph& graph, const Node& node) {
  const std::string& op =
      node.kind == NodeKind::opaque ? graph.opaque(node).name : std::string(graph.op(node).name);
  const std::string& name = graph.suggested_name(node.output());
  return name.empty() ? op : fmt::format("{} '{}'", op, name);
}

KnownInput known_input(const FlowValue& value) {
  KnownInput known{value.type, std::nullopt};
  if (value.constant && value.constant->bytes().size() <= largest_parameter)
    known.contents = value.constant;
  return known;
}

Result<std::vector<FlowValue>> FlowBlockBuilder::add_graph(
    const Graph& graph, const std::map<std::string, FlowValue>& inputs) {
  std::vector<FlowValue> values(graph.value_count());
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    if (node.kind == NodeKind::input) {
      values[node.output().v] = inputs.at(graph.input_name(node));
      continue;
    }
    if (node.kind == NodeKind::constant) {
      values[node.output().v] =
          FlowValue::of(graph.constant(node), graph.suggested_name(node.output()));
      continue;
    }
    std::vector<FlowValue> operands;
    for (const ValueId input : node.inputs)
      operands.push_back(input.is_none() ? FlowValue() : values[input.v]);
    LEMMA_ASSIGN_OR_RETURN(std::vector<FlowValue> results, add_node(graph, node, operands));
    for (std::uint32_t k = 0; k < node.output_count && k < results.size(); ++k) {
      const std::string& name = graph.suggested_name(node.output(k));
      if (!name.empty()) results[k].name = name;
      values[node.output(k).v] = std::move(results[k]);
    }
  }
  std::vector<FlowValue> outputs;
  for (const GraphOutput& output : graph.outputs()) outputs.push_back(values[output.value.v]);
  return outputs;
}

Result<std::vector<FlowValue>> FlowBlockBuilder::add_node(const Graph& graph, const Node& node,
                                                          const std::vector<FlowValue>& operands) {
  if (node.kind == NodeKind::opaque) return add_opaque(graph, node, operands);
  const bool has_constants_alone = std::all_of(
      operands.begin(), operands.end(),
      [](const FlowValue& operand) { return operand.is_absent() || operand.constant.has_value(); });
  if (has_constants_alone)
    if (auto constants = folded(node, operands)) return constants;
  return add_operation(graph, node, operands);
}

Result<std::vector<FlowValue>> FlowBlockBuilder::add_operation(
    const Graph& graph, const Node& node, const std::vector<FlowValue>& operands) {
  std::uint32_t level = 0;
  for (const FlowValue& operand : operands)
    if (operand.level != FlowValue::no_level) level = std::max(level, reading_level(operand));
  std::vector<ValueId> inputs;
  for (const FlowValue& operand : operands) {
    if (operand.is_absent()) {
      inputs.push_back(ValueId::none());
      continue;
    }
    auto input = value_in(level, operand);
    if (!input) return with_context(node_text(graph, node), std::move(input.error()));
    inputs.push_back(*input);
  }
  Graph& target = segments_[level].graph;
  auto outputs = add_copy(target, graph, node, std::move(inputs));
  if (!outputs) return with_context(node_text(graph, node), std::move(outputs.error()));
  std::vector<FlowValue> values;
  for (const ValueId output : *outputs) {
    FlowValue& value = values.emplace_back();
    value.value = output;
    value.level = level;
    value.type = target.type(output);
    if (!is_fixed(value.type))
      return unsupported(fmt::format("{}: its result, {}, has sizes that only a run decides",
                                     node_text(graph, node), text(value.type)));
  }
  return values;
}

Result<std::vector<FlowValue>> FlowBlockBuilder::add_opaque(
    const Graph& graph, const Node& node, const std::vector<FlowValue>& operands) {
  const OpaqueOperator& op = graph.opaque(node);
  LEMMA_ASSIGN_OR_RETURN(const KeptNode kept, KeptNode::read(op, parts_.envelope));
  if (!kept.bodies().empty()) {
    auto results =
        FlowNodeBuilder(parts_, *this, depth_, kept, node_text(graph, node)).add(operands);
    if (!results) return with_context(node_text(graph, node), std::move(results.error()));
    return results;
  }
  // With the types and contents of its operands it may be an operation.
  std::vector<KnownInput> known;
  std::map<std::string, FlowValue> inputs;
  for (const FlowValue& operand : operands) {
    if (!operand.is_absent()) inputs.emplace(fmt::format("{}", known.size()), operand);
    known.push_back(known_input(operand));
  }
  LEMMA_ASSIGN_OR_RETURN(const Graph alone, kept.alone(known));
  for (const NodeId id : alone.live_nodes())
    if (alone.node(id).kind == NodeKind::opaque)
      return unsupported(fmt::format("{} has no program: {}", node_text(graph, node), op.reason));
  LEMMA_ASSIGN_OR_RETURN(std::vector<FlowValue> results, add_graph(alone, inputs));
  std::vector<FlowValue> all(node.output_count);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::size_t position = std::stoul(alone.outputs()[i].name);
    if (position < all.size()) all[position] = std::move(results[i]);
  }
  return all;
}

ValueId FlowBlockBuilder::constant_in(std::uint32_t level, const Constant& constant) {
  Segment& segment = segments_[level];
  const std::pair<const void*, std::string> key(constant.bytes().data(), text(constant.type()));
  const auto known = segment.constants.find(key);
  if (known != segment.constants.end()) return known->second;
  const ValueId added = segment.graph.add_constant(constant);
  // The constant in the graph keeps the bytes, so that no other constant gets their address.
  segment.constants.emplace(key, added);
  return added;
}

Result<ValueId> FlowBlockBuilder::value_in(std::uint32_t level, const FlowValue& value) {
  if (value.constant) return constant_in(level, *value.constant);
  if (!value.value.is_none() && value.level == level) return value.value;
  LEMMA_ASSIGN_OR_RETURN(const FlowTensorNumber tensor, tensor_of(value));
  Segment& segment = segments_[level];
  const auto known = segment.inputs.find(tensor);
  if (known != segment.inputs.end()) return known->second;
  LEMMA_ASSIGN_OR_RETURN(const ValueId added,
                         segment.graph.add_input(fmt::format("value_{}", tensor), value.type));
  segment.inputs.emplace(tensor, added);
  return added;
}

FlowTensorNumber FlowBlockBuilder::leave(std::uint32_t level, ValueId value,
                                         const std::string& name) {
  Segment& segment = segments_[level];
  const auto known = segment.leaving.find(value);
  if (known != segment.leaving.end()) return known->second;
  const FlowTensorNumber tensor = parts_.add_tensor(name, segment.graph.type(value));
  segment.leaving.emplace(value, tensor);
  return tensor;
}

Result<FlowTensorNumber> FlowBlockBuilder::tensor_of(const FlowValue& value,
                                                     bool may_have_free_rows) {
  if (value.is_absent()) return unsupported("a value is missing");
  if (!is_computable(value.type.data_type))
    return unsupported(fmt::format("'{}' has the type {}", value.name, text(value.type)));
  // The first level of a block runs before all that may want the constant.
  if (value.constant) return leave(0, constant_in(0, *value.constant), value.name);
  if (value.tensor == backend::no_tensor) return leave(value.level, value.value, value.name);
  if (parts_.tensor(value.tensor).has_free_rows && !may_have_free_rows)
    return unsupported(fmt::format(
        "it reads '{}', which has as many rows as a loop takes steps, and only a run decides that",
        value.name));
  return value.tensor;
}

std::vector<backend::FlowStep> FlowBlockBuilder::take_steps() {
  std::vector<backend::FlowStep> steps;
  std::uint32_t levels = 0;
  for (const auto& [level, segment] : segments_) levels = std::max(levels, level + 1);
  for (const auto& [level, of_level] : steps_) levels = std::max(levels, level + 1);
  for (std::uint32_t level = 0; level < levels; ++level) {
    if (const auto control = steps_.find(level); control != steps_.end())
      for (backend::FlowStep& step : control->second) steps.push_back(std::move(step));
    const auto entry = segments_.find(level);
    if (entry == segments_.end() || entry->second.leaving.empty()) continue;
    Segment& segment = entry->second;
    backend::FlowRun run;
    run.segment = static_cast<std::uint32_t>(parts_.result.segments.size());
    for (const NodeId id : segment.graph.inputs())
      for (const auto& [tensor, value] : segment.inputs)
        if (value == segment.graph.node(id).output()) run.inputs.push_back(tensor);
    for (const auto& [value, tensor] : segment.leaving) {
      // Names of outputs are unique: each value leaves once.
      (void)segment.graph.add_output(fmt::format("value_{}", tensor), value);
      run.outputs.push_back(tensor);
    }
    parts_.result.segments.push_back(std::move(segment.graph));
    steps.push_back({std::move(run)});
  }
  return steps;
}

}  // namespace lemma
