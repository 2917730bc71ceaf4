#include "costmodel/operation_count.h"

#include <algorithm>
#include <set>

#include "costmodel/joint_work.h"
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

/// Walks one definition. A node is evaluated once for each value of the variables it depends on, unless its elements are
/// computed together (costmodel/joint_work.h). Loop nests (lowering/) do not say as much: they turn arithmetic on i64 elements into linear forms, as that
/// on indices, and repeat in each output what outputs share.
/// Arithmetic on indices alone is not counted, as loops turn it into increments, nor are constants.
class Counter {
 public:
  Counter(const Definition& definition, const Instance& instance)
      : definition_(definition),
        instance_(instance),
        reads_(instance.inputs.size(), 0),
        depends_(definition.nodes().size()),
        of_elements_(definition.nodes().size(), 0) {}

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
      of_elements_[i] = node.kind == Kind::read ? 1 : 0;
      for (const ExpressionId operand : node.operands)
        if (of_elements_[operand.v] != 0) of_elements_[i] = 1;
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
    // What stands in an index is free, but for the elements that are read there.
    std::vector<std::pair<ExpressionId, bool>> stack = {{root, false}};
    while (!stack.empty()) {
      const auto [id, in_index] = stack.back();
      stack.pop_back();
      if (!visited_.emplace(id, in_index).second) continue;
      const ExpressionNode& node = definition_.node(id);
      std::vector<VariableId> variables = depends_[id.v];
      auto times = extent_product(variables);
      if (!times) return false;
      if (is_reduction(node.kind)) {
        const auto range = extent_product(node.bound);
        if (!range) return false;
        *times *= *range;
      }
      const bool is_read = node.kind == Kind::read;
      const auto joint = in_index ? std::nullopt : joint_work(id, scope);
      if (joint) (is_real(node.type) ? flops_ : integers_) += *joint;
      if (is_read && !visited_.contains({id, !in_index})) add_read(node, *times);
      if (!is_read && !in_index && !joint && of_elements_[id.v] != 0) add(node, *times);
      // Below what is counted as a whole, only reads are left to count.
      for (const ExpressionId operand : node.operands)
        stack.emplace_back(operand, in_index || is_read || joint);
    }
    return true;
  }

  /// What the node takes if its elements are computed together. Nothing if it depends on more than the axes of the output.
  std::optional<double> joint_work(ExpressionId id, const std::vector<VariableId>& scope) const {
    const std::vector<VariableId>& axes = depends_[id.v];
    if (of_elements_[id.v] == 0 ||
        !std::includes(scope.begin(), scope.end(), axes.begin(), axes.end()))
      return std::nullopt;
    return joint_operations(definition_, instance_, id, axes);
  }

  void add_read(const ExpressionNode& node, double times) {
    if (node.input < reads_.size()) reads_[node.input] += times;
  }

  void add(const ExpressionNode& node, double times) {
    switch (node.kind) {
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
    } else {
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
  std::vector<char> of_elements_;  // whether a node depends on an element, not on indices alone
  std::set<std::pair<ExpressionId, bool>> visited_;  // as a value, and in an index
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
    const auto part = count_operations(graph.op(node), {types, node.attributes, node.output_count},
                                       graph.output_types(node));
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
