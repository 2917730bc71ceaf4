#include "costmodel/roofline.h"

#include <algorithm>

namespace lemma {

RooflineModel::RooflineModel(Device device, RooflineOptions options)
    : device_(std::move(device)), options_(std::move(options)) {}

Dimension RooflineModel::bind(const Dimension& dimension) const {
  if (dimension.is_constant()) return dimension;
  const Dimension bound = substitute(dimension, options_.sizes);
  if (bound.is_constant()) return maximum(bound, Dimension(0));
  std::map<std::string, int> symbols;
  collect_symbols(bound, symbols);
  DimensionBindings rest;
  for (const auto& [symbol, count] : symbols)
    rest.emplace(symbol, Dimension(options_.assumed_size));
  return maximum(substitute(bound, rest), Dimension(0));
}

TensorType RooflineModel::bind(const TensorType& type) const {
  TensorType bound = type;
  if (bound.shape)
    for (Dimension& dimension : *bound.shape) dimension = bind(dimension);
  return bound;
}

namespace {

template <typename Bind>
Attributes bind_attributes(const Attributes& attributes, const Bind& bind) {
  Attributes bound = attributes;
  for (const auto& [name, value] : attributes) {
    if (const auto* shape = std::get_if<Shape>(&value)) {
      Shape sizes = *shape;
      for (Dimension& size : sizes) size = bind(size);
      bound.set(name, std::move(sizes));
    } else if (const auto* dimension = std::get_if<Dimension>(&value)) {
      bound.set(name, bind(*dimension));
    }
  }
  return bound;
}

}  // namespace

OperationCount RooflineModel::count(const OperatorRecord& record, const Instance& instance,
                                    std::span<const TensorType> outputs) const {
  if (const auto exact = count_operations(record, instance, outputs)) return *exact;
  std::vector<TensorType> inputs, results;
  for (const TensorType& type : instance.inputs) inputs.push_back(bind(type));
  const Attributes attributes = bind_attributes(
      instance.attributes, [this](const Dimension& dimension) { return bind(dimension); });
  const Instance bound{inputs, attributes, instance.output_count};
  auto inferred = infer_types(record, bound);
  if (inferred) {
    if (const auto counted = count_operations(record, bound, *inferred)) return *counted;
  }
  // The assumed sizes do not fit this operator: the bytes of what is there still count.
  OperationCount rough;
  for (const TensorType& type : outputs) {
    const TensorType sized = bind(type);
    if (sized.shape)
      rough.bytes_written +=
          static_cast<double>(element_count(*sized.shape).offset()) * bits(sized.data_type) / 8;
  }
  rough.bytes_read = rough.bytes_written;
  return rough;
}

double RooflineModel::seconds(const OperatorRecord& record, const Instance& instance,
                              std::span<const TensorType> outputs) const {
  if (record.has(view)) return 0;
  const OperationCount work = count(record, instance, outputs);
  DataType type = DataType::f32;
  for (const TensorType& output : outputs)
    if (is_real(output.data_type)) type = output.data_type;
  const double peak = work.contraction ? device_.contraction(type) : device_.elementwise(type);
  const double operations = work.flops + work.integer_operations;
  // t = (w + h) / peak is w / peak at large w, and reaches half the peak at w = h. Elementwise work
  // is spread like its bytes, whose ramp is counted below.
  const double ramp = work.contraction ? device_.half_peak_flops : 0;
  const double compute = operations > 0 ? (operations + ramp) / peak : 0;
  const double memory =
      work.bytes() > 0 ? (work.bytes() + device_.half_peak_bytes) / device_.memory_bandwidth : 0;
  return device_.operator_overhead + std::max(compute, memory);
}

std::vector<bool> weight_only_nodes(const Graph& graph) {
  std::vector<bool> weight_only(graph.node_count(), false);
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node({i});
    if (node.kind == NodeKind::constant) weight_only[i] = true;
    if (node.kind != NodeKind::operation || graph.op(node).has(not_folded)) continue;
    weight_only[i] = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return input.is_none() || weight_only[graph.producer(input).v];
    });
  }
  return weight_only;
}

GraphCost cost_of(const Graph& graph, const RooflineModel& model) {
  GraphCost total;
  const std::vector<bool> weight_only = weight_only_nodes(graph);
  std::vector<bool> counted(graph.node_count(), false);
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    if (weight_only[id.v] || node.kind == NodeKind::input) continue;
    ++total.operators;
    for (const ValueId input : node.inputs) {
      if (input.is_none()) continue;
      const NodeId producer = graph.producer(input);
      if (!weight_only[producer.v] || counted[producer.v]) continue;
      counted[producer.v] = true;
      const TensorType& type = graph.type(input);
      if (!type.shape || !is_constant(*type.shape)) continue;
      const auto elements = element_count(*type.shape).offset();
      total.parameters += elements;
      total.parameter_bytes += static_cast<double>(elements) * bits(type.data_type) / 8;
    }
    if (node.kind == NodeKind::opaque) {
      total.seconds += model.opaque_seconds();
      continue;
    }
    const std::vector<TensorType> inputs = graph.input_types(node);
    const std::vector<TensorType> outputs = graph.output_types(node);
    const Instance instance{inputs, node.attributes, node.output_count};
    total.seconds += model.seconds(graph.op(node), instance, outputs);
    if (graph.op(node).has(view)) continue;
    const OperationCount work = model.count(graph.op(node), instance, outputs);
    total.flops += work.flops;
    total.bytes += work.bytes();
  }
  return total;
}

}  // namespace lemma
