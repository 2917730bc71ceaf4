#include "ir/operation_count.h"

#include <algorithm>
#include <map>

#include "ir/graph.h"

namespace lemma {

namespace {

using Kind = ExpressionKind;

std::optional<double> byte_count(const TensorType& type) {
  if (!type.shape) return std::nullopt;
  const Dimension count = element_count(*type.shape);
  if (!count.is_constant()) return std::nullopt;
  return static_cast<double>(count.offset()) * bits(type.data_type) / 8;
}

/// Walks one definition. A node is evaluated once for each value of the variables it depends on;
/// index arithmetic is not counted, as loops turn it into increments.
class Counter {
 public:
  Counter(const Definition& definition, const Instance& instance)
      : definition_(definition),
        instance_(instance),
        reads_(instance.inputs.size(), 0),
        depends_(definition.nodes().size()) {}

  bool count(OperationCount& total) {
    find_dependencies();
    for (const DefinedOutput& output : definition_.outputs()) {
      std::vector<VariableId> axes = output.axes;
      std::sort(axes.begin(), axes.end());
      if (!visit(output.value, axes)) return false;
    }
    total.flops += flops_;
    total.integer_operations += integers_;
    total.contraction = contraction_flops_ > flops_ / 2;
    for (std::size_t i = 0; i < reads_.size(); ++i) {
      if (!instance_.has(i)) continue;
      const auto size = byte_count(instance_.inputs[i]);
      if (!size) return false;
      total.bytes_read +=
          std::min(*size, reads_[i] * static_cast<double>(byte_size(instance_.type(i))));
    }
    return true;
  }

 private:
  /// The free variables of every node: operands come first, so one pass suffices.
  void find_dependencies() {
    for (std::size_t i = 0; i < depends_.size(); ++i) {
      const ExpressionNode& node = definition_.nodes()[i];
      std::vector<VariableId>& set = depends_[i];
      if (node.kind == Kind::index) set.push_back(node.variable);
      for (const ExpressionId operand : node.operands)
        set.insert(set.end(), depends_[operand.v].begin(), depends_[operand.v].end());
      std::sort(set.begin(), set.end());
      set.erase(std::unique(set.begin(), set.end()), set.end());
      for (const VariableId bound : node.bound)
        set.erase(std::remove(set.begin(), set.end(), bound), set.end());
    }
  }

  std::optional<double> extent_product(const std::vector<VariableId>& variables) const {
    double product = 1;
    for (const VariableId variable : variables) {
      const Dimension& extent = definition_.extent(variable);
      if (!extent.is_constant()) return std::nullopt;
      product *= static_cast<double>(extent.offset());
    }
    return product;
  }

  /// Counts the node and what is below it, once a node.
  bool visit(ExpressionId root, const std::vector<VariableId>& scope) {
    const auto outputs = extent_product(scope);
    if (!outputs) return false;
    std::vector<ExpressionId> stack = {root};
    while (!stack.empty()) {
      const ExpressionId id = stack.back();
      stack.pop_back();
      if (!visited_.emplace(id, true).second) continue;
      const ExpressionNode& node = definition_.node(id);
      std::vector<VariableId> variables = depends_[id.v];
      auto times = extent_product(variables);
      if (!times) return false;
      if (is_reduction(node.kind)) {
        const auto range = extent_product(node.bound);
        if (!range) return false;
        *times *= *range;
      }
      add(node, *times);
      if (node.kind == Kind::read) continue;  // index arithmetic is free
      stack.insert(stack.end(), node.operands.begin(), node.operands.end());
    }
    return true;
  }

  void add(const ExpressionNode& node, double times) {
    switch (node.kind) {
      case Kind::read:
        if (node.input < reads_.size()) reads_[node.input] += times;
        return;
      case Kind::integer_constant:
      case Kind::real_constant:
      case Kind::extent:
      case Kind::index:
      case Kind::select:
      case Kind::cast: return;
      default: break;
    }
    if (is_real(node.type)) {
      flops_ += times;
      const bool sum_of_products = node.kind == Kind::sum && is_product(node.operands[0]);
      if (sum_of_products) contraction_flops_ += 2 * times;
    } else if (node.type != DataType::i64) {
      integers_ += times;
    }
  }

  bool is_product(ExpressionId id) const {
    const ExpressionNode& node = definition_.node(id);
    if (node.kind == Kind::select) return is_product(node.operands[1]);
    return node.kind == Kind::multiply;
  }

  const Definition& definition_;
  const Instance& instance_;
  double flops_ = 0, integers_ = 0, contraction_flops_ = 0;
  std::vector<double> reads_;
  std::vector<std::vector<VariableId>> depends_;
  std::map<ExpressionId, bool> visited_;
};

bool count_composite(const OperatorRecord& record, const Instance& instance,
                     OperationCount& total) {
  Graph graph;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    auto input = graph.add_input(std::to_string(i), instance.inputs[i]);
    inputs.push_back(instance.has(i) ? *input : ValueId::none());
  }
  if (!record.compose(graph, instance, inputs)) return false;
  bool contraction = false;
  for (const Node& node : graph.nodes()) {
    if (node.kind != NodeKind::operation) continue;
    const std::vector<TensorType> types = graph.input_types(node);
    const auto part = count_operations(
        graph.op(node), {types, node.attributes, node.output_count}, graph.output_types(node));
    if (!part) return false;
    total.flops += part->flops;
    total.integer_operations += part->integer_operations;
    contraction = contraction || part->contraction;
  }
  total.contraction = contraction;
  for (std::size_t i = 0; i < instance.inputs.size(); ++i)
    if (instance.has(i)) total.bytes_read += byte_count(instance.inputs[i]).value_or(0);
  return true;
}

}  // namespace

std::optional<OperationCount> count_operations(const OperatorRecord& record,
                                               const Instance& instance,
                                               std::span<const TensorType> outputs) {
  for (std::size_t i = 0; i < instance.inputs.size(); ++i)
    if (instance.has(i) && !byte_count(instance.inputs[i])) return std::nullopt;
  OperationCount total;
  for (const TensorType& output : outputs) {
    const auto bytes = byte_count(output);
    if (!bytes) return std::nullopt;
    total.bytes_written += *bytes;
  }
  if (record.compose != nullptr) {
    if (!count_composite(record, instance, total)) return std::nullopt;
    return total;
  }
  const Definition definition = record.define(instance);
  if (!Counter(definition, instance).count(total)) return std::nullopt;
  return total;
}

}  // namespace lemma
