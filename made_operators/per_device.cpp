#include "made_operators/per_device.h"

#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include "facts/operator_example.h"
#include "ir/rebuild.h"

namespace lemma::made_operators {

namespace {

constexpr std::string_view suffix = "PerDevice";
/// The operator, for which a record has one value only, so that its functions know what they are asked about.
constexpr std::string_view operator_attribute = "per_device";
constexpr std::string_view axes_attribute = "device_axes";
constexpr std::int64_t most_device_axes = 4;

/// The application on one device.
struct Local {
  const OperatorRecord* record = nullptr;
  std::vector<TensorType> types;  // of the operands, without axes of devices
  Attributes attributes;
  std::size_t output_count = 1;
  Shape devices;

  Instance instance(Constraints* constraints = nullptr) const {
    return {types, attributes, output_count, constraints};
  }
};

Shape behind(const Shape& shape, std::size_t axes) {
  return Shape(shape.begin() + static_cast<long>(axes), shape.end());
}
Shape joined(const Shape& devices, const Shape& shape) {
  Shape result = devices;
  result.insert(result.end(), shape.begin(), shape.end());
  return result;
}

Result<Local> local_of(const Instance& in) {
  Local result;
  result.record = &record(operator_named(in.attributes.string(operator_attribute)));
  const std::int64_t axes = in.attributes.integer(axes_attribute);
  if (axes < 1 || axes > most_device_axes)
    return bad_input(fmt::format("device_axes {} is not between 1 and {}", axes, most_device_axes));
  const auto count = static_cast<std::size_t>(axes);
  bool is_first = true;
  for (std::size_t i = 0; i < in.inputs.size(); ++i) {
    if (!in.has(i)) {
      result.types.emplace_back();
      continue;
    }
    if (in.rank(i) < count)
      return bad_input(fmt::format("operand {} has no {} axes of devices", i, count));
    const Shape devices(in.shape(i).begin(), in.shape(i).begin() + axes);
    if (is_first) result.devices = devices;
    is_first = false;
    for (std::size_t axis = 0; axis < count; ++axis)
      if (!in.are_equal(devices[axis], result.devices[axis]))
        return bad_input(fmt::format("operand {} is on {} devices, another one on {}", i,
                                     text(devices), text(result.devices)));
    result.types.push_back({in.type(i), behind(in.shape(i), count)});
  }
  if (is_first) return unsupported("an operator without operands is on no devices");
  result.attributes = local_attributes_of(in.attributes);
  result.output_count = in.output_count;
  return result;
}

Result<Attributes> normalize_per_device(const Instance& in) {
  LEMMA_ASSIGN_OR_RETURN(const Local local, local_of(in));
  LEMMA_ASSIGN_OR_RETURN(
      Attributes result,
      complete_attributes(*local.record, local.types, local.attributes, local.output_count));
  for (const std::string_view name : {operator_attribute, axes_attribute})
    result.set(std::string(name), *in.attributes.find(name));
  return result;
}

Result<std::vector<TensorType>> infer_per_device(const Instance& in) {
  LEMMA_ASSIGN_OR_RETURN(const Local local, local_of(in));
  LEMMA_ASSIGN_OR_RETURN(std::vector<TensorType> outputs,
                         infer_types(*local.record, local.instance(in.constraints)));
  for (TensorType& output : outputs)
    if (output.shape) output.shape = joined(local.devices, *output.shape);
  return outputs;
}

/// Copies of a definition's outputs, one after the other: variables of one output are not those of another.
class CopyForDevices {
 public:
  CopyForDevices(const Definition& from, const Shape& devices) : from_(from), devices_(devices) {}

  Definition operator()() && {
    for (const DefinedOutput& output : from_.outputs()) copy(output);
    return std::move(to_).finish();
  }

 private:
  void copy(const DefinedOutput& output) {
    device_ = to_.variables(devices_);
    variables_.clear();
    known_.clear();
    std::vector<Expression> axes = device_;
    for (const VariableId axis : output.axes) axes.push_back(variable(axis));
    to_.output(std::move(axes), copied(output.value));
  }

  Expression variable(VariableId variable) {
    const auto known = variables_.find(variable);
    if (known != variables_.end()) return known->second;
    return variables_.emplace(variable, to_.variable(from_.extent(variable))).first->second;
  }

  /// What the value needs, operands first: definitions of many outputs are long, and each needs little of them.
  Expression copied(ExpressionId value) {
    std::vector<ExpressionId> open = {value};
    while (!open.empty()) {
      const ExpressionId next = open.back();
      const std::size_t before = open.size();
      if (!known_.contains(next))
        for (const ExpressionId operand : from_.node(next).operands)
          if (!known_.contains(operand)) open.push_back(operand);
      if (open.size() > before) continue;
      open.pop_back();
      if (!known_.contains(next)) known_.emplace(next, copy(from_.node(next)));
    }
    return known_.at(value);
  }

  Expression copy(const ExpressionNode& node) {
    std::vector<Expression> operands;
    for (const ExpressionId operand : node.operands) operands.push_back(known_.at(operand));
    if (node.kind == ExpressionKind::index) return variable(node.variable);
    if (node.kind == ExpressionKind::extent) return to_.extent(node.extent);
    if (node.kind == ExpressionKind::read) {
      operands.insert(operands.begin(), device_.begin(), device_.end());
      return to_.read(node.input, node.type, std::move(operands));
    }
    if (!is_reduction(node.kind)) return to_.like(node, operands);
    std::vector<Expression> bound;
    for (const VariableId axis : node.bound) bound.push_back(variable(axis));
    return to_.reduce(node.kind, std::move(bound), operands[0]);
  }

  const Definition& from_;
  const Shape& devices_;
  DefinitionBuilder to_;
  std::vector<Expression> device_;
  std::map<VariableId, Expression> variables_;
  std::map<ExpressionId, Expression> known_;  // by node of the definition
};

Definition define_per_device(const Instance& in) {
  const Local local = *local_of(in);
  const Definition definition = local.record->define(local.instance());
  return CopyForDevices(definition, local.devices)();
}

/// A constant of a composition, on each device.
Result<ValueId> on_each_device(Graph& graph, ValueId value, const Shape& devices) {
  const Shape shape = *graph.type(value).shape;
  const Shape ones(devices.size(), Dimension(1));
  LEMMA_ASSIGN_OR_RETURN(const ValueId row,
                         graph.add("Reshape", {value}, {{"shape", joined(ones, shape)}}));
  return graph.add("Expand", {row}, {{"shape", joined(devices, shape)}});
}

Result<std::vector<ValueId>> add_copy_of(const Graph& from, const Node& node, Graph& to,
                                         const Shape& devices, std::vector<ValueId> operands) {
  bool has_operand = false;
  for (const ValueId operand : operands) has_operand |= !operand.is_none();
  if (!has_operand) {
    LEMMA_ASSIGN_OR_RETURN(std::vector<ValueId> values,
                           add_copy(to, node, node.attributes, std::move(operands)));
    for (ValueId& value : values) {
      LEMMA_ASSIGN_OR_RETURN(value, on_each_device(to, value, devices));
    }
    return values;
  }
  LEMMA_ASSIGN_OR_RETURN(
      const NodeId copy,
      to.add_operation(operator_named(per_device_name(from.op(node).name)), std::move(operands),
                       per_device_attributes(node.attributes, devices.size()), node.output_count));
  std::vector<ValueId> values;
  for (std::uint32_t i = 0; i < node.output_count; ++i) values.push_back(to.node(copy).output(i));
  return values;
}

Result<std::vector<ValueId>> compose_per_device(Graph& graph, const Instance& in,
                                                std::span<const ValueId> inputs) {
  LEMMA_ASSIGN_OR_RETURN(const Local local, local_of(in));
  Graph alone;
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < local.types.size(); ++i) {
    ValueId value = ValueId::none();
    if (in.has(i)) {
      LEMMA_ASSIGN_OR_RETURN(value, alone.add_input(fmt::format("x{}", i), local.types[i]));
    }
    operands.push_back(value);
  }
  LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                         local.record->compose(alone, local.instance(), operands));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    LEMMA_RETURN_IF_ERROR(alone.add_output(fmt::format("y{}", i), outputs[i]));
  std::vector<ValueId> values(alone.value_count(), ValueId::none());
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (!operands[i].is_none()) values[operands[i].v] = inputs[i];
  for (const NodeId id : alone.live_nodes()) {
    const Node& node = alone.node(id);
    if (node.kind == NodeKind::input) continue;
    if (node.kind == NodeKind::constant) {
      LEMMA_ASSIGN_OR_RETURN(
          values[node.output().v],
          on_each_device(graph, graph.add_constant(alone.constant(node)), local.devices));
      continue;
    }
    LEMMA_ASSIGN_OR_RETURN(
        const std::vector<ValueId> copies,
        add_copy_of(alone, node, graph, local.devices, operands_in(node, values)));
    for (std::uint32_t i = 0; i < node.output_count; ++i) values[node.output(i).v] = copies[i];
  }
  std::vector<ValueId> results;
  for (const ValueId output : outputs) results.push_back(values[output.v]);
  return results;
}

/// All that a record points to, for good.
struct Texts {
  std::string name, summary, op;  // the last as the default of an attribute
  std::vector<AttributeSpecification> attributes;
  std::string example_operands, example_attributes;
  std::vector<OperatorExample> examples;
};

Texts& keep(Texts texts) {
  static std::mutex mutex;
  static std::deque<Texts> all;
  const std::lock_guard lock(mutex);
  return all.emplace_back(std::move(texts));
}

/// An example of the copies, made of one of the operator.
void add_example(Texts& kept, const OperatorRecord& op) {
  const auto example = example_instance(op);
  if (!example) return;
  std::vector<std::string> operands, values;
  for (TensorType type : example->inputs) {
    if (type.shape) type.shape = joined({Dimension(2)}, *type.shape);
    operands.push_back(type.data_type == DataType::undefined ? "-" : text(type));
  }
  for (const auto& [name, value] : per_device_attributes(example->attributes, 1))
    values.push_back(fmt::format("{}={}", name, text(value)));
  kept.example_operands = fmt::format("{}", fmt::join(operands, "; "));
  kept.example_attributes = fmt::format("{}", fmt::join(values, "; "));
  kept.examples.push_back(
      {kept.example_operands, kept.example_attributes, static_cast<int>(example->output_count)});
}

}  // namespace

std::string per_device_name(std::string_view op) { return fmt::format("{}{}", op, suffix); }

Attributes per_device_attributes(Attributes attributes, std::size_t device_axes) {
  attributes.set(std::string(axes_attribute), static_cast<std::int64_t>(device_axes));
  return attributes;
}

Attributes local_attributes_of(Attributes attributes) {
  attributes.erase(operator_attribute);
  attributes.erase(axes_attribute);
  return attributes;
}

bool is_per_device(const OperatorRecord& record) { return record.infer == infer_per_device; }

OperatorId local_operator(const OperatorRecord& record) {
  return operator_named(record.name.substr(0, record.name.size() - suffix.size()));
}

std::optional<OperatorRecord> per_device_record(std::string_view name) {
  if (!name.ends_with(suffix)) return std::nullopt;
  const std::string_view op = name.substr(0, name.size() - suffix.size());
  // Copies of copies are those of a mesh with more axes.
  if (op.find(suffix) != std::string_view::npos) return std::nullopt;
  const auto local = find_operator(op);
  if (!local) return std::nullopt;
  const OperatorRecord& forward = record(*local);
  Texts& kept = keep({std::string(name),
                      fmt::format("{} on each device", op),
                      fmt::format("\"{}\"", op),
                      {},
                      {},
                      {},
                      {}});
  add_example(kept, forward);
  for (AttributeSpecification attribute : forward.attributes) {
    // Axes are those of the tensors of one device, which the operator itself normalizes.
    if (attribute.role != AttributeRole::number) attribute.role = AttributeRole::plain;
    kept.attributes.push_back(attribute);
  }
  kept.attributes.push_back({operator_attribute, AttributeKind::string, kept.op});
  kept.attributes.push_back({axes_attribute, AttributeKind::integer, "1"});
  OperatorRecord result{.name = kept.name, .summary = kept.summary};
  result.inputs = forward.inputs;
  result.outputs = forward.outputs;
  result.attributes = kept.attributes;
  result.infer = infer_per_device;
  if (forward.define != nullptr) result.define = define_per_device;
  if (forward.compose != nullptr) result.compose = compose_per_device;
  result.normalize = normalize_per_device;
  result.examples = kept.examples;
  return result;
}

}  // namespace lemma::made_operators
