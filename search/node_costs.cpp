#include "search/node_costs.h"

#include <memory>

#include <absl/container/flat_hash_map.h>

namespace lemma {

namespace {

constexpr double node_epsilon = 1e-11;  // far below any real cost

/// Operands that are known when the model is built: one bit for each of the first 64.
std::uint64_t constant_operands(const EGraph& egraph, ENodeId id) {
  std::uint64_t result = 0, bit = 1;
  for (const ClassId child : egraph.children(id)) {
    if (!child.is_none() && egraph.weight_only(child)) result |= bit;
    bit <<= 1U;
  }
  return result;
}

double seconds_of(const OperatorCosts& costs, const EGraph& egraph, ENodeId id,
                  std::uint64_t constant) {
  const ENode& node = egraph.node(id);
  const std::vector<TensorType> inputs = egraph.input_types(id);
  std::vector<bool> flags(inputs.size());
  for (std::size_t i = 0; i < inputs.size() && i < 64; ++i) flags[i] = (constant >> i & 1U) != 0;
  const Instance instance{inputs, egraph.attributes(node), node.output_count};
  return costs
      .find(costs.key(record(node.op), instance, egraph.types(id.founded()), std::move(flags)))
      .seconds;
}

}  // namespace

NodeCost node_costs(const OperatorCosts& costs) {
  using Known = absl::flat_hash_map<std::pair<std::uint32_t, std::uint64_t>, double>;
  const auto known = std::make_shared<Known>();  // by form and constant operands
  return [&costs, known](const EGraph& egraph, ENodeId id) {
    const ENode& node = egraph.node(id);
    switch (node.kind) {
      case ENodeKind::input:
      case ENodeKind::constant:
      case ENodeKind::projection: return 0.0;
      case ENodeKind::opaque: return costs.opaque_seconds();
      case ENodeKind::operation: break;
    }
    if (egraph.weight_only(id)) return node_epsilon;
    const std::uint64_t constant = constant_operands(egraph, id);
    const auto [entry, is_new] = known->try_emplace({egraph.form(id).v, constant});
    if (is_new) entry->second = node_epsilon + seconds_of(costs, egraph, id, constant);
    return entry->second;
  };
}

}  // namespace lemma
