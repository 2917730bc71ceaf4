#include "frontend_onnx/computed_constants.h"

namespace lemma::frontend {

namespace {

constexpr std::int64_t most_elements = 1024;  // of a parameter, and of what it is computed from

}  // namespace

bool ComputedConstants::is_small(ValueId value) const {
  const TensorType& type = graph_.type(value);
  if (!type.is_known()) return false;
  const Dimension count = element_count(*type.shape);
  return count.is_constant() && count.offset() <= most_elements;
}

const Constant* ComputedConstants::known(ValueId value) const {
  if (const Constant* constant = graph_.constant_of(value)) return constant;
  const auto computed = computed_.find(value);
  return computed != computed_.end() && computed->second ? &*computed->second : nullptr;
}

/// Computes a node whose operands have been looked at.
void ComputedConstants::compute(const Node& node) {
  std::vector<const Constant*> operands;
  bool is_computable = node.kind == NodeKind::operation;
  for (const ValueId operand : node.inputs) {
    operands.push_back(operand.is_none() ? nullptr : known(operand));
    is_computable = is_computable && (operand.is_none() || operands.back() != nullptr);
  }
  std::optional<std::vector<Constant>> outputs;
  if (is_computable)
    if (auto evaluated = evaluate_(node, operands)) outputs = std::move(*evaluated);
  for (std::uint32_t k = 0; k < node.output_count; ++k)
    computed_[node.output(k)] = outputs ? std::optional(std::move((*outputs)[k])) : std::nullopt;
}

const Constant* ComputedConstants::find(ValueId value) {
  if (!evaluate_) return graph_.constant_of(value);
  std::vector<ValueId> open = {value};
  while (!open.empty()) {
    const ValueId next = open.back();
    if (graph_.constant_of(next) != nullptr || computed_.contains(next)) {
      open.pop_back();
      continue;
    }
    const Node& node = graph_.node(graph_.producer(next));
    const std::size_t before = open.size();
    bool is_possible = node.kind == NodeKind::operation && is_small(next);
    for (const ValueId operand : node.inputs) {
      if (!is_possible || operand.is_none() || graph_.constant_of(operand) != nullptr) continue;
      const auto computed = computed_.find(operand);
      if (computed == computed_.end()) open.push_back(operand);
      is_possible = computed == computed_.end() || computed->second.has_value();
    }
    if (is_possible && open.size() > before) continue;
    open.resize(before);
    open.pop_back();
    if (is_possible)
      compute(node);
    else
      computed_[next] = std::nullopt;
  }
  return known(value);
}

}  // namespace lemma::frontend
