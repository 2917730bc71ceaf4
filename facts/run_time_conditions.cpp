#include "facts/run_time_conditions.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace lemma {
namespace {

bool is_size(const Dimension& dimension) {
  const auto low = lower_bound(dimension);
  return low && *low >= 0;
}

/// Sizes that are broadcast count as equal, which is more than is needed: one of them may be 1.
void add_demand(const Constraint& demand, RunTimeConditions& result) {
  const auto& [kind, a, b] = demand;
  const auto zero = [&result](const Dimension& difference) {
    if (!difference.is(0)) result.zero.push_back(difference);
  };
  switch (kind) {
    case ConstraintKind::equal:
    case ConstraintKind::broadcasts:
    case ConstraintKind::expands: return zero(a - b);
    case ConstraintKind::divides: return zero(b - a * floor_div(b, a));
    // That windows fit and strides are positive is decided by the sizes of the outputs, and by the proofs of
    // the axioms.
    case ConstraintKind::at_most: return;
  }
}

void add_demands(const Graph& graph, const Node& node, RunTimeConditions& result) {
  const std::vector<TensorType> types = graph.input_types(node);
  const auto demands = constraints_of(graph.op(node), {types, node.attributes, node.output_count});
  if (!demands) {
    result.zero.emplace_back(1);  // never holds
    return;
  }
  for (const Constraint& demand : *demands) add_demand(demand, result);
}

/// Whether `difference` is a sum of at most two of the others, with signs.
bool is_zero(const Dimension& difference, const std::vector<Dimension>& zero) {
  if (difference.is(0)) return true;
  std::vector<Dimension> terms = {Dimension(0)};
  for (const Dimension& size : zero) {
    terms.push_back(size);
    terms.push_back(Dimension(0) - size);
  }
  for (const Dimension& a : terms)
    for (const Dimension& b : terms)
      if (difference == a + b) return true;
  return false;
}

void append(RunTimeConditions& all, RunTimeConditions more) {
  std::move(more.zero.begin(), more.zero.end(), std::back_inserter(all.zero));
  std::move(more.sizes.begin(), more.sizes.end(), std::back_inserter(all.sizes));
}

}  // namespace

RunTimeConditions run_time_conditions(const Graph& graph, const Node& node) {
  RunTimeConditions result;
  if (node.kind == NodeKind::operation) add_demands(graph, node, result);
  for (std::uint32_t i = 0; i < node.output_count; ++i)
    for (const Dimension& size : *graph.type(node.output(i)).shape)
      if (!is_size(size)) result.sizes.push_back(size);
  return result;
}

RunTimeConditions conditions_below(const Graph& graph, const std::vector<ValueId>& roots) {
  std::vector<char> needed(graph.node_count(), 0);
  for (const ValueId root : roots) needed[graph.producer(root).v] = 1;
  RunTimeConditions result;
  for (std::size_t i = graph.node_count(); i-- > 0;) {
    if (needed[i] == 0) continue;
    const Node& node = graph.nodes()[i];
    for (const ValueId input : node.inputs)
      if (!input.is_none()) needed[graph.producer(input).v] = 1;
    append(result, run_time_conditions(graph, node));
  }
  return result;
}

Result<void> check_follows(const RunTimeConditions& wanted, const RunTimeConditions& accepted) {
  for (const Dimension& size : wanted.zero)
    if (!is_zero(size, accepted.zero))
      return bad_input(fmt::format("this is defined only where {} = 0", size.text()));
  for (const Dimension& size : wanted.sizes)
    if (std::find(accepted.sizes.begin(), accepted.sizes.end(), size) == accepted.sizes.end())
      return bad_input(fmt::format("this is defined only where {} is not negative", size.text()));
  return {};
}

}  // namespace lemma
